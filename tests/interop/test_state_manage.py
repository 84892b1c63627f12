"""Managing a queue and editing its jobs, as BullMQ 5.62.0 leaves them."""

import pytest

from .starting import start


def test_pause_and_resume_of_an_empty_queue(pair):
    pair.resume()
    pair.pause()
    pair.pause()
    pair.resume()


def test_pause_and_resume_with_jobs_in_every_state(pair):
    start(pair)
    pair.add("waits", {})
    pair.add("waits too", {})
    pair.add("first", {}, priority=1)
    pair.add("later", {}, delay=1000)
    pair.pause()
    pair.add("while paused", {})
    pair.resume()
    pair.fetch("t:1")


def test_resume_with_only_delayed_jobs_announces_the_next(pair):
    pair.add("later", {}, delay=1000)
    pair.pause()
    pair.resume()


def test_resume_with_only_prioritized_jobs(pair):
    pair.add("first", {}, priority=1)
    pair.pause()
    pair.resume()


@pytest.mark.parametrize("opts", [{}, {"priority": 2}, {"lifo": True}])
def test_promote(pair, opts):
    pair.add("waits", {})
    id = pair.add("later", {}, delay=1000, **opts)
    pair.promote(id)
    assert pair.promote(id).code == -3
    assert pair.promote("77").code == -3


def test_promote_while_paused(pair):
    id = pair.add("later", {}, delay=1000)
    pair.pause()
    pair.promote(id)


def test_promote_all(pair):
    for n in range(5):
        pair.add("later", {}, delay=5000 - n, priority=n % 2)
    pair.promote_jobs(count=2)
    pair.promote_jobs()


def test_change_delay(pair):
    id = pair.add("later", {}, delay=1000)
    other = pair.add("other", {}, delay=3000)
    pair.tick(100)
    pair.change_delay(id, 2900)
    pair.change_delay(id, 2900)
    pair.change_delay(other, 0)
    assert pair.change_delay("77", 5).code == -1
    waiting = pair.add("waits", {})
    assert pair.change_delay(waiting, 5).code == -3


@pytest.mark.parametrize("before", [0, 5])
@pytest.mark.parametrize("after", [0, 2, 5])
@pytest.mark.parametrize("lifo", [False, True])
def test_change_priority_of_a_waiting_job(pair, before, after, lifo):
    id = pair.add("work", {}, priority=before)
    pair.add("other", {})
    pair.add("other", {}, priority=2)
    pair.command("DEL", "{P}marker")
    pair.change_priority(id, after, lifo)
    pair.fetch("t:0")


def test_change_priority_in_other_states(pair):
    assert pair.change_priority("77", 1).code == -1
    active = start(pair)
    pair.change_priority(active, 3)
    delayed = pair.add("later", {}, delay=1000)
    pair.change_priority(delayed, 4)
    pair.pause()
    paused = pair.add("paused", {})
    pair.change_priority(paused, 5)
    pair.change_priority(paused, 0)
    pair.change_priority(paused, 0, lifo=True)


@pytest.mark.parametrize("value", [0, 42, 1.5, "half", {"pct": [5]}, True, None])
def test_progress(pair, value):
    pair.update_progress(start(pair), value)


@pytest.mark.parametrize("value", [None, {"new": "☃"}, [], "x"])
def test_update_data(pair, value):
    pair.update_data(start(pair), value)


def test_edits_of_a_job_that_is_gone_are_refused(pair):
    assert pair.update_progress("77", 1).code == -1
    assert pair.update_data("77", 1).code == -1
    assert pair.add_log("77", "row").code == -1
    pair.clear_logs("77")


def test_logs(pair):
    id = start(pair)
    for n in range(4):
        assert pair.add_log(id, f"row {n}\nwith more ☃") == n + 1
    assert pair.add_log(id, "kept", keep=3) == 3
    assert pair.add_log(id, "kept", keep=10) == 4
    pair.clear_logs(id, keep=2)
    pair.clear_logs(id)


def test_remove_in_every_state(pair):
    completed, failed, active = start(pair), start(pair, token="t:1"), start(pair, token="t:2")
    pair.complete(completed, 1, "t:0")
    pair.fail(failed, "boom", "t:1")
    waiting = pair.add("waits", {})
    for id in (
        completed,
        failed,
        waiting,
        pair.add("later", {}, delay=1000),
        pair.add("first", {}, priority=1),
        "77",
    ):
        assert pair.remove(id) == 1
    assert pair.remove(active) == 0
    pair.expire(f"{active}:lock")
    assert pair.remove(active) == 1
    paused = pair.add("paused", {})
    pair.pause()
    assert pair.remove(paused) == 1


def test_remove_takes_logs_and_progress_along(pair):
    id = pair.add("waits", {}, jobId="mine")
    pair.add_log(id, "row")
    pair.update_progress(id, 5)
    assert pair.remove(id, remove_children=False) == 1


@pytest.mark.parametrize("opts", [{}, {"lifo": True}, {"priority": 3}])
@pytest.mark.parametrize("state", ["failed", "completed"])
def test_retry_of_a_finished_job(pair, state, opts):
    id = start(pair, attempts=1, **opts)
    pair.add("waits", {})
    if state == "failed":
        pair.fail(id, "boom", "t:0")
    else:
        pair.complete(id, 1, "t:0")
    pair.retry(id, state)
    assert pair.retry(id, state).code == -3
    assert pair.retry("77", state).code == -1
    for token in ("t:1", "t:2"):
        pair.fetch(token)
    pair.fail(id, "again", "t:1" if opts else "t:2")


def test_retry_while_paused(pair):
    id = start(pair)
    pair.fail(id, "boom", "t:0")
    pair.pause()
    pair.retry(id)


@pytest.mark.parametrize("state", ["failed", "completed"])
@pytest.mark.parametrize("count", [2, 1000])
def test_retry_of_all_finished_jobs(pair, state, count):
    for n in range(5):
        id = start(pair, priority=n % 2)
        if state == "failed":
            pair.fail(id, "boom", "t:0")
        else:
            pair.complete(id, 1, "t:0")
        pair.tick(1000)
    pair.retry_jobs(state, count, pair.now - 2000)
    pair.retry_jobs(state, count)


@pytest.mark.parametrize("delayed", [False, True])
def test_drain(pair, delayed):
    start(pair)
    pair.add("waits", {})
    pair.add("first", {}, priority=1)
    pair.add("later", {}, delay=1000)
    pair.pause()
    pair.add("paused", {})
    pair.drain(delayed)


def fill_every_state(pair):
    completed, failed = start(pair), start(pair, token="t:1")
    pair.complete(completed, 1, "t:0", metrics={"maxDataPoints": 3})
    pair.fail(failed, "boom", "t:1")
    pair.add("first", {}, priority=1)
    pair.add("later", {}, delay=1000)
    pair.add_log(pair.add("waits", {}), "row")


@pytest.mark.parametrize("count", [1, 1000])
def test_obliterate(pair, count):
    fill_every_state(pair)
    pair.obliterate(count=count)


def test_obliterate_refuses_while_jobs_are_active_unless_forced(pair):
    fill_every_state(pair)
    pair.fetch("t:5")
    assert pair.obliterate() is not None
    pair.obliterate(force=True)


@pytest.mark.parametrize("types", [["waiting", "active", "delayed"], ["wait", "paused"], ["nonsense", "failed"], []])
def test_counts(pair, types):
    fill_every_state(pair)
    pair.pause()
    pair.add("paused", {})
    types = types or ["active", "completed", "delayed", "failed", "paused", "prioritized", "waiting", "waiting-children"]
    pair.counts(*types)


@pytest.mark.parametrize("asc", [False, True])
@pytest.mark.parametrize(("start_at", "end"), [(0, -1), (0, 0), (1, 2), (0, 1), (3, 9), (-2, -1)])
def test_ranges(pair, start_at, end, asc):
    for n in range(4):
        pair.add("waits", {})
        pair.add("later", {}, delay=1000 * (n + 1))
        pair.add("first", {}, priority=n + 1)
    pair.fetch_many(2, "t:0")
    for types in (["wait"], ["delayed"], ["prioritized"], ["active"], ["waiting", "active", "wait"]):
        pair.ranges(types, start_at, end, asc)


def test_states(pair):
    fill_every_state(pair)
    pair.fetch("t:5")
    pair.add("waits", {})
    for id in (*"1234567", "77"):
        pair.state(id)
    pair.pause()
    pair.state("6")
