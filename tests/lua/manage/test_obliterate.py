"""lua/manage/obliterate.lua: removing a queue."""

import pytest
import redis

SCRIPT = "manage/obliterate"
STATES = ("active", "delayed", "completed", "wait", "paused", "prioritized", "failed")


@pytest.fixture
def full(queue, client, store, pause):
    """A paused queue with one job in each state, a scheduler and all other keys."""
    base = f"bull:{queue}:"
    for state in (*STATES, "waiting-children"):
        store(f"in-{state}", state, 5, deid=f"d-{state}")
        client.rpush(f"{base}in-{state}:logs", "row")
        client.set(f"{base}de:d-{state}", f"in-{state}")
    client.set(f"{base}in-active:lock", "w:0")
    client.set(f"{base}de:foreign", "someone")
    client.zadd(f"{base}repeat", {"s": 20})
    client.hset(f"{base}repeat:s", "name", "n")
    for name in ("delay", "stalled-check", "id", "pc", "limiter", "ext:rver", "ext:routewd", "ext:hint"):
        client.set(f"{base}{name}", 1)
    client.sadd(f"{base}stalled", "in-active")
    client.xadd(f"{base}events", {"event": "paused"})
    for state in ("completed", "failed"):
        client.hset(f"{base}metrics:{state}", "count", 1)
        client.rpush(f"{base}metrics:{state}:data", 1)
    pause()
    return queue


LEFT = {"waiting-children", "in-waiting-children", "in-waiting-children:logs", "limiter", "de:foreign"}
LEFT |= {"de:d-waiting-children"}


def test_an_empty_paused_queue_loses_its_settings(run, queue, pause, dump):
    pause()
    assert run(SCRIPT, queue, 1000, False) == 0
    assert dump(queue) == {}


def test_everything_is_removed_except_waiting_children_and_other_queues(run, full, dump):
    assert run(SCRIPT, full, 1000, True) == 0
    assert set(dump(full)) == LEFT


def test_without_force_active_jobs_stop_it(run, full, client, dump):
    before = dump(full)
    assert run(SCRIPT, full, 1000, False) == -2
    assert dump(full) == before
    client.delete(f"bull:{full}:active")
    assert run(SCRIPT, full, 1000, False) == 0


@pytest.mark.parametrize("force", [True, False])
def test_a_queue_that_is_not_paused_stays(run, queue, store, dump, force):
    store("1", "wait")
    before = dump(queue)
    assert run(SCRIPT, queue, 1000, force) == -1
    assert dump(queue) == before


def test_each_call_removes_at_most_count_jobs_active_ones_first(run, full, dump):
    gone = ["active", "delayed", "repeat", "completed", "wait", "paused", "prioritized", "failed"]
    for removed in range(1, len(gone) + 1):
        assert run(SCRIPT, full, 1, True) == 1
        state = dump(full)
        assert [name for name in gone if name in state] == gone[removed:]
        assert state["meta"]["paused"] == "1"
    assert run(SCRIPT, full, 1, True) == 0
    assert set(dump(full)) == LEFT


def test_thousands_of_jobs_are_removed_in_one_call(run, queue, client, pause, dump):
    pause()
    client.rpush(f"bull:{queue}:paused", *range(2_500))
    client.zadd(f"bull:{queue}:failed", {str(n): n for n in range(2_500, 5_000)})
    for n in range(5_000):
        client.hset(f"bull:{queue}:{n}", "name", "n")
    assert run(SCRIPT, queue, 4_000, False) == 1
    assert client.zcard(f"bull:{queue}:failed") == 1_000
    assert run(SCRIPT, queue, 4_000, False) == 0
    assert dump(queue) == {}


def test_a_malformed_count_changes_nothing(run, full, dump):
    before = dump(full)
    with pytest.raises(redis.ResponseError):
        run(SCRIPT, full, "all", True)
    assert dump(full) == before
