"""move_to_finished with a queue for results: outcomes are added there as jobs, by the call that finishes their jobs."""

import json

import pytest

NOW = 1795225366409


@pytest.fixture
def results(queue):
    return f"{queue}-results"


@pytest.fixture
def found(client, results):
    """`found()`: the data of the jobs that wait for results, the oldest first."""

    def data():
        ids = client.lrange(f"bull:{results}:wait", 0, -1)[::-1]
        return [json.loads(client.hget(f"bull:{results}:{job_id}", "data")) for job_id in ids]

    return data


def test_a_result_is_what_an_add_to_that_queue_leaves(add, fetch, finish, client, queue, results):
    add(queue, "{}", name="send")
    fetch(queue)
    finish(queue, ("1", '{"sent":true}'), results=results, now=NOW)
    expected = {
        "queue": queue, "id": "1", "name": "send", "state": "completed",
        "attemptsMade": 1, "finishedOn": NOW, "returnvalue": {"sent": True},
    }  # fmt: skip
    added = client.hgetall(f"bull:{results}:1")
    assert json.loads(added["data"]) == expected
    other = f"{queue}-other"
    add(other, added["data"], name="send", opts='{"attempts":0}', timestamp=NOW)
    assert added == client.hgetall(f"bull:{other}:1")
    keys = [sorted(key.split(":")[2] for key in client.scan_iter(f"bull:{name}:*")) for name in (results, other)]
    assert keys[0] == keys[1]
    entries = [[fields for _, fields in client.xrange(f"bull:{name}:events")] for name in (results, other)]
    assert entries[0] == entries[1]


@pytest.mark.parametrize("concurrency", [None, 5])
@pytest.mark.parametrize("keep", [-1, 0, 1])
def test_all_outcomes_of_a_call_are_added_in_their_order(
    add, fetch, finish, client, queue, results, found, concurrency, keep
):
    if concurrency:
        client.hset(f"bull:{queue}:meta", "concurrency", concurrency)
    for name in ("a", "a", "b"):
        add(queue, "{}", name=name)
    fetch(queue, 3)
    finish(queue, *((str(number), str(number)) for number in (1, 2, 3)), results=results, keep=keep)
    assert [(one["id"], one["name"], one["returnvalue"]) for one in found()] == [
        ("1", "a", 1),
        ("2", "a", 2),
        ("3", "b", 3),
    ]
    assert client.zrange(f"bull:{results}:marker", 0, -1) == ["0"]


def test_a_failure_has_its_reason(add, fetch, finish, queue, results, found):
    add(queue, "{}")
    fetch(queue)
    reason = 'a "quoted" line\n\u2028 and \u00e9'
    finish(queue, ("1", reason, "[]", "1"), target="failed", results=results)
    [one] = found()
    assert (one["state"], one["failedReason"], "returnvalue" in one) == ("failed", reason, False)


def test_a_job_that_is_refused_has_no_result(add, fetch, finish, client, queue, results, found):
    add(queue, "{}", "{}")
    fetch(queue, 2)
    client.set(f"bull:{queue}:1:lock", "other")
    refused, _ = finish(queue, ("1", "1"), ("2", "2"), results=results)
    assert refused == {0: -6}
    assert [one["id"] for one in found()] == ["2"]


def test_results_wait_in_a_paused_queue_without_a_marker(add, fetch, finish, client, queue, results):
    client.hset(f"bull:{results}:meta", "paused", 1)
    add(queue, "{}")
    fetch(queue)
    finish(queue, ("1", "1"), results=results)
    assert client.llen(f"bull:{results}:paused") == 1
    assert not client.exists(f"bull:{results}:marker")


def test_no_job_finishes_if_its_result_cannot_be_added(add, fetch, finish, client, queue, results):
    client.set(f"bull:{results}:wait", "no list")
    add(queue, "{}", "{}")
    fetch(queue, 2)
    with pytest.raises(Exception, match="WRONGTYPE"):
        finish(queue, ("1", "1"), ("2", "2"), results=results)
    assert sorted(client.lrange(f"bull:{queue}:active", 0, -1)) == ["1", "2"]
    assert not client.exists(f"bull:{queue}:completed", f"bull:{results}:1", f"bull:{results}:2")
    client.delete(f"bull:{results}:wait")
    assert finish(queue, ("1", "1"), ("2", "2"), results=results)[0] == {}
    assert client.zcard(f"bull:{queue}:completed") == client.llen(f"bull:{results}:wait") == 2
