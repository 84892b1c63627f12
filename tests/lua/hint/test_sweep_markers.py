"""lua/hint/sweep_markers.lua: the markers of fan_out whose jobs have been taken."""

import pytest

SCRIPT = "hint/sweep_markers"
LATER = 1795225999000


@pytest.fixture
def mark(client, queue):
    """Sets the usual markers, four of a fan-out, and the one for delayed jobs."""
    client.zadd(f"bull:{queue}:marker", {"0": 0, "w:1": 0, "w:2": 0, "w:3": 0, "w:4": 0, "1": LATER})


def left(dump, queue):
    return [member for member, _ in dump(queue).get("marker", [])]


def test_without_a_job_to_run_only_the_marker_for_delayed_jobs_stays(mark, run, queue, dump):
    assert run(SCRIPT, queue) == 5
    assert left(dump, queue) == ["1"]


@pytest.mark.parametrize("priority", [0, 3])
def test_nothing_is_removed_while_a_job_waits(mark, run, add, queue, dump, priority):
    add(queue, "{}", priority=priority)
    before = left(dump, queue)
    assert run(SCRIPT, queue) == 0
    assert left(dump, queue) == before


def test_at_the_global_concurrency_only_the_markers_of_the_fan_out_go(mark, run, add, fetch, client, queue, dump):
    add(queue, "{}", "{}")
    fetch(queue)
    client.hset(f"bull:{queue}:meta", "concurrency", 1)
    assert run(SCRIPT, queue) == 4
    assert left(dump, queue) == ["0", "1"]


def test_while_paused_none_is_left_but_the_one_for_delayed_jobs(mark, run, add, client, queue, dump):
    add(queue, "{}", "{}")
    client.hset(f"bull:{queue}:meta", "paused", 1)
    client.rename(f"bull:{queue}:wait", f"bull:{queue}:paused")
    assert run(SCRIPT, queue) == 5
    assert left(dump, queue) == ["1"]


@pytest.mark.parametrize("members", [{}, {"0": 0}, {"1": LATER}, {"0": 0, "1": LATER}])
def test_a_full_queue_without_such_markers_keeps_what_it_has(run, add, fetch, client, queue, dump, members):
    add(queue, "{}", "{}")
    fetch(queue)
    client.hset(f"bull:{queue}:meta", "concurrency", 1)
    client.delete(f"bull:{queue}:marker")
    if members:
        client.zadd(f"bull:{queue}:marker", members)
    assert run(SCRIPT, queue) == 0
    assert left(dump, queue) == list(members)


def test_an_empty_queue_stays_empty(run, queue, dump):
    assert run(SCRIPT, queue) == 0
    assert dump(queue) == {}
