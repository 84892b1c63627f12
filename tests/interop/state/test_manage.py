"""Managing a queue and editing its jobs leaves the state of BullMQ."""

import pytest

from .first_steps import start_in_bullmq


def test_pause_and_resume_of_an_empty_queue(any_pair):
    any_pair.resume()
    any_pair.pause()
    any_pair.pause()
    any_pair.resume()


def test_pause_and_resume_with_jobs_in_every_state(any_pair):
    start_in_bullmq(any_pair)
    any_pair.add("waits", {})
    any_pair.add("waits too", {})
    any_pair.add("first", {}, priority=1)
    any_pair.add("later", {}, delay=120_000)
    any_pair.pause()
    any_pair.add("while paused", {})
    any_pair.resume()
    any_pair.foreign_fetch("t:1")


def test_resume_with_only_delayed_jobs_announces_the_next(any_pair):
    any_pair.add("later", {}, delay=120_000)
    any_pair.pause()
    any_pair.resume()


def test_resume_with_only_prioritized_jobs(any_pair):
    any_pair.add("first", {}, priority=1)
    any_pair.pause()
    any_pair.resume()


@pytest.mark.parametrize("opts", [{}, {"priority": 2}, {"lifo": True}])
def test_promote(any_pair, opts):
    any_pair.add("waits", {})
    id = any_pair.add("later", {}, delay=120_000, **opts)
    any_pair.promote(id)
    assert any_pair.promote(id).code == -3


def test_promote_while_paused(any_pair):
    id = any_pair.add("later", {}, delay=120_000)
    any_pair.pause()
    any_pair.promote(id)


def test_promote_all(any_pair):
    for n in range(5):
        any_pair.add("later", {}, delay=540_000 - 1000 * n, priority=n % 2)
    any_pair.promote_jobs(count=2)
    any_pair.promote_jobs()


@pytest.mark.parametrize("paused", [False, True])
def test_promoting_many_leaves_what_promoting_each_leaves(any_pair, paused):
    waiting = any_pair.add("waits", {})
    ids = [any_pair.add("later", {}, delay=540_000 - 1000 * n, priority=n % 3) for n in range(6)]
    if paused:
        any_pair.pause()
    assert any_pair.promote_many([ids[4], waiting, ids[1], ids[2], ids[4], ids[3]]) == [ids[n] for n in (4, 1, 2, 3)]
    any_pair.promote_many(ids)


def test_change_delay(any_pair):
    id = any_pair.add("later", {}, delay=120_000)
    other = any_pair.add("other", {}, delay=300_000)
    any_pair.change_delay(id, 180_000)
    any_pair.change_delay(id, 240_000)
    any_pair.change_delay(other, 0)
    waiting = any_pair.add("waits", {})
    assert any_pair.change_delay(waiting, 5).code == -3


@pytest.mark.parametrize("before", [0, 5])
@pytest.mark.parametrize("after", [0, 2, 5])
@pytest.mark.parametrize("lifo", [False, True])
def test_change_priority_of_a_waiting_job(any_pair, before, after, lifo):
    id = any_pair.add("work", {}, priority=before)
    any_pair.add("other", {})
    any_pair.add("other", {}, priority=2)
    any_pair.command("DEL", "{P}marker")
    any_pair.change_priority(id, after, lifo)
    any_pair.foreign_fetch("t:0")


def test_change_priority_in_other_states(any_pair):
    active = start_in_bullmq(any_pair)
    any_pair.change_priority(active, 3)
    delayed = any_pair.add("later", {}, delay=120_000)
    any_pair.change_priority(delayed, 4)
    any_pair.pause()
    paused = any_pair.add("paused", {})
    any_pair.change_priority(paused, 5)
    any_pair.change_priority(paused, 0)
    any_pair.change_priority(paused, 0, lifo=True)


@pytest.mark.parametrize("value", [0, 42, 1.5, "half", {"pct": [5]}, True, None])
def test_progress(any_pair, value):
    any_pair.update_progress(start_in_bullmq(any_pair), value)


@pytest.mark.parametrize("value", [None, {"new": "☃"}, [], "x"])
def test_update_data(any_pair, value):
    any_pair.update_data(start_in_bullmq(any_pair), value)


def test_edits_of_a_job_that_is_gone_are_refused(any_pair):
    id = any_pair.add("work", {})
    any_pair.remove(id)
    assert any_pair.update_progress(id, 1).code == -1
    assert any_pair.update_data(id, 1).code == -1
    assert any_pair.add_log(id, "row").code == -1
    assert any_pair.change_delay(id, 5).code == -1
    assert any_pair.change_priority(id, 1).code == -1
    assert any_pair.promote(id).code == -3
    assert any_pair.retry(id).code == -1
    any_pair.clear_logs(id)


def test_logs(any_pair):
    id = start_in_bullmq(any_pair)
    for n in range(4):
        assert any_pair.add_log(id, f"row {n}\nwith more ☃") == n + 1
    assert any_pair.add_log(id, "kept", keep=3) == 3
    assert any_pair.add_log(id, "kept", keep=10) == 4
    any_pair.clear_logs(id, keep=2)
    any_pair.clear_logs(id)


def test_remove_in_every_state(any_pair):
    completed, failed, active = (
        start_in_bullmq(any_pair),
        start_in_bullmq(any_pair, token="t:1"),
        start_in_bullmq(any_pair, token="t:2"),
    )
    any_pair.foreign_complete(completed, 1, "t:0")
    any_pair.foreign_fail(failed, "boom", "t:1")
    waiting = any_pair.add("waits", {})
    for id in (
        completed,
        failed,
        waiting,
        any_pair.add("later", {}, delay=120_000),
        any_pair.add("first", {}, priority=1),
        "77",
    ):
        assert any_pair.remove(id) == 1
    assert any_pair.remove(active) == 0
    any_pair.expire(f"{active}:lock")
    assert any_pair.remove(active) == 1
    paused = any_pair.add("paused", {})
    any_pair.pause()
    assert any_pair.remove(paused) == 1


def test_remove_takes_logs_and_progress_along(any_pair):
    id = any_pair.add("waits", {}, jobId="mine")
    any_pair.add_log(id, "row")
    any_pair.update_progress(id, 5)
    assert any_pair.remove(id, remove_children=False) == 1


@pytest.mark.parametrize("opts", [{}, {"lifo": True}, {"priority": 3}])
@pytest.mark.parametrize("state", ["failed", "completed"])
def test_retry_of_a_finished_job(any_pair, state, opts):
    id = start_in_bullmq(any_pair, attempts=1, **opts)
    any_pair.add("waits", {})
    if state == "failed":
        any_pair.foreign_fail(id, "boom", "t:0")
    else:
        any_pair.foreign_complete(id, 1, "t:0")
    any_pair.retry(id, state)
    assert any_pair.retry(id, state).code == -3
    for token in ("t:1", "t:2"):
        any_pair.foreign_fetch(token)
    any_pair.foreign_fail(id, "again", "t:1" if opts else "t:2")


def test_retry_while_paused(any_pair):
    id = start_in_bullmq(any_pair)
    any_pair.foreign_fail(id, "boom", "t:0")
    any_pair.pause()
    any_pair.retry(id)


def finish_five(pair, state):
    for n in range(5):
        id = start_in_bullmq(pair, priority=n % 2)
        if state == "failed":
            pair.foreign_fail(id, "boom", "t:0")
        else:
            pair.foreign_complete(id, 1, "t:0")
        if pair.now:
            pair.tick(1000)


@pytest.mark.parametrize("state", ["failed", "completed"])
@pytest.mark.parametrize("count", [2, 1000])
def test_retry_of_all_finished_jobs(any_pair, state, count):
    finish_five(any_pair, state)
    any_pair.retry_jobs(state, count)


@pytest.mark.parametrize("state", ["failed", "completed"])
def test_retry_of_the_jobs_that_finished_first(pair, state):
    finish_five(pair, state)
    pair.retry_jobs(state, timestamp=pair.now - 2000)


@pytest.mark.parametrize("delayed", [False, True])
def test_drain(any_pair, delayed):
    start_in_bullmq(any_pair)
    any_pair.add("waits", {})
    any_pair.add("first", {}, priority=1)
    any_pair.add("later", {}, delay=120_000)
    any_pair.pause()
    any_pair.add("paused", {})
    any_pair.drain(delayed)


def fill_every_state(any_pair):
    completed, failed = start_in_bullmq(any_pair), start_in_bullmq(any_pair, token="t:1")
    any_pair.foreign_complete(completed, 1, "t:0", metrics={"maxDataPoints": 3})
    any_pair.foreign_fail(failed, "boom", "t:1")
    any_pair.add("first", {}, priority=1)
    any_pair.add("later", {}, delay=120_000)
    any_pair.add_log(any_pair.add("waits", {}), "row")


@pytest.mark.parametrize("count", [1, 1000])
def test_obliterate(any_pair, count):
    fill_every_state(any_pair)
    any_pair.obliterate(count=count)


def test_obliterate_refuses_while_jobs_are_active_unless_forced(any_pair):
    fill_every_state(any_pair)
    any_pair.foreign_fetch("t:5")
    assert any_pair.obliterate() is not None
    any_pair.obliterate(force=True)


def test_an_unknown_state_counts_nothing(pair):
    pair.add("work", {})
    pair.counts("nonsense", "waiting")


@pytest.mark.parametrize("types", [["waiting", "active", "delayed"], ["wait", "paused"], []])
def test_counts(any_pair, types):
    fill_every_state(any_pair)
    any_pair.pause()
    any_pair.add("paused", {})
    types = types or [
        "active",
        "completed",
        "delayed",
        "failed",
        "paused",
        "prioritized",
        "waiting",
        "waiting-children",
    ]
    any_pair.counts(*types)


@pytest.mark.parametrize("asc", [False, True])
@pytest.mark.parametrize(("start_at", "end"), [(0, -1), (0, 0), (1, 2), (0, 1), (3, 9), (-2, -1)])
def test_ranges(any_pair, start_at, end, asc):
    for n in range(4):
        any_pair.add("waits", {})
        any_pair.add("later", {}, delay=120_000 * (n + 1))
        any_pair.add("first", {}, priority=n + 1)
    any_pair.foreign_fetch_many(2, "t:0")
    for types in (["wait"], ["delayed"], ["prioritized"], ["active"], ["waiting", "active", "wait"]):
        any_pair.ranges(types, start_at, end, asc)


def test_states(any_pair):
    fill_every_state(any_pair)
    any_pair.foreign_fetch("t:5")
    any_pair.add("waits", {})
    for id in (*"1234567", "77"):
        any_pair.state(id)
    any_pair.pause()
    any_pair.state("6")
