"""lua/hint/wake_another.lua: what a worker does last when it stops taking jobs."""

import pytest

SCRIPT = "hint/wake_another"
NOW = 1795225891427
AGAIN = [("0", 0)]


@pytest.fixture
def unmarked(client, queue):
    """Removes all markers, as idle workers do."""
    return lambda: client.delete(f"bull:{queue}:marker")


@pytest.mark.parametrize("priority", [0, 3])
def test_a_worker_is_woken_for_a_job_that_may_run(run, add, unmarked, queue, dump, priority):
    add(queue, "{}", priority=priority)
    unmarked()
    assert run(SCRIPT, queue) == 1
    assert dump(queue)["marker"] == AGAIN


def test_a_marker_that_is_there_stays_alone(run, add, queue, dump):
    add(queue, "{}", "{}")
    assert run(SCRIPT, queue) == 1
    assert dump(queue)["marker"] == AGAIN


def test_without_a_job_nothing_is_written(run, add, fetch, unmarked, queue, dump):
    assert run(SCRIPT, queue) == 0
    assert dump(queue) == {}
    add(queue, "{}")
    fetch(queue)
    unmarked()
    before = dump(queue)
    assert run(SCRIPT, queue) == 0
    assert dump(queue) == before


def test_nobody_is_woken_while_the_queue_is_paused(run, add, unmarked, client, queue, dump):
    add(queue, "{}", "{}")
    add(queue, "{}", priority=3)
    client.hset(f"bull:{queue}:meta", "paused", 1)
    client.rename(f"bull:{queue}:wait", f"bull:{queue}:paused")
    unmarked()
    assert run(SCRIPT, queue) == 0
    assert "marker" not in dump(queue)


def test_nobody_is_woken_at_the_global_concurrency(run, add, fetch, unmarked, client, queue, dump):
    add(queue, "{}", "{}")
    fetch(queue)
    client.hset(f"bull:{queue}:meta", "concurrency", 1)
    unmarked()
    assert run(SCRIPT, queue) == 0
    assert "marker" not in dump(queue)
    client.hset(f"bull:{queue}:meta", "concurrency", 2)
    assert run(SCRIPT, queue) == 1


def test_a_worker_is_woken_under_a_rate_limit_to_learn_how_long_it_lasts(run, add, unmarked, client, queue, dump):
    add(queue, "{}")
    client.hset(f"bull:{queue}:meta", mapping={"max": 1, "duration": 60_000})
    client.set(f"bull:{queue}:limiter", 1, px=60_000)
    unmarked()
    assert run(SCRIPT, queue) == 1
    assert dump(queue)["marker"] == AGAIN


@pytest.mark.parametrize("waits", [False, True])
def test_another_worker_learns_when_the_next_delayed_job_is_due(run, add, unmarked, queue, dump, waits):
    add(queue, "{}", delay=60_000)
    add(queue, "{}", delay=5000)
    if waits:
        add(queue, "{}")
    marked = dump(queue)["marker"]
    unmarked()
    assert run(SCRIPT, queue) == waits
    assert dump(queue)["marker"] == marked
