"""lua/finish/move_to_finished.lua: the start of a job that was claimed ahead is recorded together with its end."""

import pytest

NOW = 1795225366409
PLAIN = 6  # the fields of every job; nothing is stamped


@pytest.mark.parametrize("target", ["completed", "failed"])
@pytest.mark.parametrize("worker", ["", "w"])
@pytest.mark.parametrize("plain_fields", ["", PLAIN])
def test_a_job_claimed_ahead_ends_like_one_that_was_not(
    add, fetch, finish, new_queue, dump, events, target, worker, plain_fields
):
    ahead, now = new_queue(), new_queue()
    row = ("null",) if target == "completed" else ("boom", '["s"]', 1)
    for queue in (ahead, now):
        add(queue, *"abc")
        fetch(queue, 3, slots=0 if queue == ahead else 3, now=NOW - 10, worker=worker)
    options = {"target": target, "worker": worker}
    jobs = [(NOW - 10, n, *row) for n in "123"]
    assert finish(ahead, *jobs, ats=1, plain_fields=plain_fields, **options)[0] == {}
    assert finish(now, *[job[1:] for job in jobs], **options)[0] == {}
    assert dump(ahead) == dump(now)
    assert events(ahead) == events(now)


def test_each_job_has_its_own_start_and_they_may_share_a_value(add, fetch, finish, queue, dump):
    add(queue, "a", "b")
    fetch(queue, 2, slots=0)
    assert finish(queue, (NOW - 5, "1"), (NOW - 3, "2"), ats=3, value="7", plain_fields=PLAIN)[0] == {}
    after = dump(queue)
    assert [(after[n]["processedOn"], after[n]["ats"], after[n]["returnvalue"]) for n in "12"] == [
        (str(NOW - 5), "3", "7"),
        (str(NOW - 3), "3", "7"),
    ]


def test_a_removed_job_gets_no_stamp(add, fetch, finish, queue, dump):
    add(queue, "a")
    fetch(queue, 1, slots=0)
    finish(queue, (NOW, "1", "null"), ats=1, keep=0)
    assert "1" not in dump(queue)


def test_an_attempt_that_is_recorded_already_is_not_counted_again(active, finish, client, queue, dump):
    """The same call is made again after it stopped before the job left active."""
    active(queue)
    client.hset(f"bull:{queue}:1", mapping={"atm": 1, "returnvalue": "1", "finishedOn": NOW - 1})
    assert finish(queue, ("1", "1"))[0] == {}
    assert dump(queue)["1"]["atm"] == "1"
    assert dump(queue)["completed"] == [("1", NOW)]


@pytest.mark.parametrize("key", ["dependencies", "unsuccessful"])
def test_a_damaged_key_of_one_job_refuses_that_job_only(active, finish, client, queue, dump, key):
    active(queue, 20)
    client.set(f"bull:{queue}:7:{key}", "x")
    refused, _ = finish(queue, *[(str(n), "null") for n in range(1, 21)])
    assert list(refused) == [6]
    assert "WRONGTYPE" in refused[6]
    assert dump(queue)["active"] == ["7"]
    assert len(dump(queue)["completed"]) == 19


def test_a_parent_that_cannot_be_changed_is_reported_and_stops_no_job(active, finish, client, queue, dump):
    active(queue, 2)
    parent = f"bull:{queue}:9"
    client.hset(f"bull:{queue}:1", mapping={"parentKey": parent, "parent": f'{{"id":"9","queueKey":"bull:{queue}"}}'})
    client.set(f"{parent}:dependencies", "no set")
    reply = finish(queue, ("1", "7"), ("2", "7"), raw=True)
    assert reply[0] == []
    assert reply[6][0] == parent
    assert "WRONGTYPE" in reply[6][1]
    assert len(dump(queue)["completed"]) == 2
