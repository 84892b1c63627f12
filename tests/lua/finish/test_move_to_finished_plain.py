"""lua/finish/move_to_finished.lua: jobs that were fetched with only the standard fields are checked with one HLEN."""

import pytest

NOW = 1795225366409
PLAIN = 8  # six fields of every job, processedOn and ats


@pytest.mark.parametrize("target", ["completed", "failed"])
def test_the_result_is_the_same_with_and_without_plain_fields(active, finish, new_queue, dump, events, target):
    known, unknown = new_queue(), new_queue()
    row = ("null",) if target == "completed" else ("boom", '["s"]', 1)
    for queue, plain_fields in ((known, PLAIN), (unknown, "")):
        active(queue, 3)
        assert (
            finish(queue, *[(str(job), *row) for job in (1, 2, 3)], target=target, plain_fields=plain_fields)[0] == {}
        )
    assert dump(known) == dump(unknown)
    assert events(known) == events(unknown)


@pytest.mark.parametrize("plain_fields", ["", PLAIN])
def test_jobs_with_the_same_return_value_send_it_once(active, finish, new_queue, dump, plain_fields):
    shared, own = new_queue(), new_queue()
    active(shared, 3)
    active(own, 3)
    finish(shared, ("1",), ("2",), ("3",), value='{"ok":true}', plain_fields=plain_fields)
    finish(own, *[(job, '{"ok":true}') for job in "123"], plain_fields=plain_fields)
    assert dump(shared) == dump(own)


@pytest.mark.parametrize(("changed", "atm"), [({"atm": 2}, "3"), ({"progress": "5"}, "1"), ({"atm": 0, "stc": 1}, "1")])
def test_a_job_that_was_changed_after_its_fetch_is_read(active, finish, client, queue, dump, changed, atm):
    active(queue, 2)
    client.hset(f"bull:{queue}:2", mapping=changed)
    assert finish(queue, ("1", "null"), ("2", "null"), plain_fields=PLAIN)[0] == {}
    assert (dump(queue)["1"]["atm"], dump(queue)["2"]["atm"]) == ("1", atm)


def test_a_parent_and_a_deduplication_id_added_after_the_fetch_are_used(active, finish, client, queue, dump):
    active(queue, 2)
    parent = f"bull:{queue}:9"
    client.hset(f"bull:{queue}:1", mapping={"parentKey": parent, "parent": f'{{"id":"9","queueKey":"bull:{queue}"}}'})
    client.sadd(f"{parent}:dependencies", f"bull:{queue}:1")
    client.hset(f"bull:{queue}:2", "deid", "d")
    client.set(f"bull:{queue}:de:d", "2")
    assert finish(queue, ("1", "7"), ("2", "null"), plain_fields=PLAIN)[0] == {}
    after = dump(queue)
    assert after["9:processed"] == {f"bull:{queue}:1": "7"}
    assert not {"9:dependencies", "de:d"} & set(after)


def test_a_job_that_must_not_finish_is_refused_with_plain_fields_too(active, finish, client, queue, dump):
    active(queue, 7)
    prefix = f"bull:{queue}:"
    client.delete(f"{prefix}1", f"{prefix}2:lock", f"{prefix}7")
    client.set(f"{prefix}3:lock", "other")
    client.lrem(f"{prefix}active", 1, "4")
    client.sadd(f"{prefix}5:dependencies", "bull:x:1")
    client.zadd(f"{prefix}6:unsuccessful", {"bull:x:1": 1})
    client.set(f"{prefix}7", "no hash")
    refused, _ = finish(queue, *[(str(job), "null") for job in range(1, 8)], plain_fields=PLAIN)
    assert refused == {0: -1, 1: -2, 2: -6, 3: -3, 4: -4, 5: -9, 6: -1}
    assert "completed" not in dump(queue)
