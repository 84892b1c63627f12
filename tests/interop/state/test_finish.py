"""Finishing: our scripts leave what BullMQ leaves, compared after every step."""

import pytest

from tests.interop.sides.state import by_job

from .first_steps import start


@pytest.mark.parametrize("value", [None, {"ok": True}, "text", 0, False, [], {}, ["☃", {"n": None}]])
def test_a_completed_job(pair, value):
    pair.complete(start(pair), value, "t:0")


def test_a_failed_job_without_attempts(pair):
    pair.fail(start(pair), "boom", "t:0")


@pytest.mark.parametrize("message", ["", "two\nlines", "größe ☃"])
def test_any_text_as_a_reason(pair, message):
    pair.fail(start(pair), message, "t:0")


def test_an_unrecoverable_failure_does_not_exhaust_the_attempts(pair):
    pair.fail(start(pair, attempts=3), "boom", "t:0", unrecoverable=True)


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_the_stack_traces_are_limited(pair, limit):
    id = start(pair, attempts=3, stackTraceLimit=limit)
    for attempt in range(3):
        pair.fail(id, f"boom {attempt}", f"t:{attempt}")
        pair.fetch(f"t:{attempt + 1}")


@pytest.mark.parametrize("keep", [True, False, 0, 2, {"count": 1}, {"age": 5}, {"age": 5, "count": 2}, {"count": 0}])
@pytest.mark.parametrize("target", ["completed", "failed"])
@pytest.mark.parametrize("holder", ["job", "worker"])
def test_the_keep_rules(pair, keep, target, holder):
    option = "removeOnComplete" if target == "completed" else "removeOnFail"
    if holder == "worker" and not isinstance(keep, dict):
        keep = {"count": int(keep)}
    job_opts, worker = ({option: keep}, {}) if holder == "job" else ({}, {option: keep})
    for n in range(4):
        id = start(pair, **job_opts)
        pair.add_log(id, "row")
        if target == "completed":
            pair.complete(id, n, "t:0", **worker)
        else:
            pair.fail(id, f"boom {n}", "t:0", **worker)
        pair.tick(2500)


def test_the_jobs_own_rule_wins_over_the_workers(pair):
    id = start(pair, removeOnComplete=False)
    pair.complete(id, 1, "t:0", removeOnComplete={"count": 0})


def test_drained_is_told_when_nothing_is_left(pair):
    one, two = start(pair), start(pair, token="t:1")
    pair.complete(one, 1, "t:0")
    pair.complete(two, 2, "t:1")


def test_drained_is_told_beside_delayed_jobs_unless_the_next_job_is_asked_for(pair):
    pair.add("later", {}, delay=60_000)
    pair.complete(start(pair), 1, "t:0")
    pair.complete(start(pair), 2, "t:0", fetch_next=True)


def test_drained_is_not_told_beside_waiting_or_prioritized_jobs(pair):
    id = start(pair)
    pair.add("first", {}, priority=1)
    pair.complete(id, 1, "t:0")


def test_drained_while_paused(pair):
    one, two = start(pair), start(pair, token="t:1")
    pair.add("waits", {})
    pair.pause()
    pair.complete(one, 1, "t:0")
    pair.complete(two, 1, "t:1", fetch_next=True)


def test_the_next_job_comes_with_the_outcome(pair):
    id = start(pair)
    pair.add("second", {})
    pair.add("third", {}, priority=1)
    pair.add("fourth", {}, delay=1000)
    assert pair.complete(id, 1, "t:0", fetch_next=True, name="w1") == "2"
    pair.tick(1000)
    assert pair.complete("2", 1, "t:0", fetch_next=True, lockDuration=60_000) == "4"
    assert pair.fail("4", "boom", "t:0", fetch_next=True) == "3"
    assert pair.fail("3", "boom", "t:0", fetch_next=True) is None


def test_the_next_job_obeys_the_limiter(pair):
    limiter = {"limiter": {"max": 1, "duration": 10_000}}
    pair.add("first", {})
    pair.add("second", {})
    pair.fetch("t:0", **limiter)
    assert pair.complete("1", 1, "t:0", fetch_next=True, **limiter) is None


def test_the_next_job_obeys_the_global_concurrency(pair):
    pair.set_global_concurrency(1)
    id = start(pair)
    pair.add("second", {})
    assert pair.complete(id, 1, "t:0", fetch_next=True) == "2"


@pytest.mark.parametrize("finish", ["complete", "fail"])
def test_a_wrong_token_is_refused(pair, finish):
    id = start(pair)
    assert getattr(pair, finish)(id, "x", "t:9").code == -6


@pytest.mark.parametrize("finish", ["complete", "fail"])
def test_a_lost_lock_is_refused(pair, finish):
    id = start(pair)
    pair.expire(f"{id}:lock")
    assert getattr(pair, finish)(id, "x", "t:0").code == -2


@pytest.mark.parametrize("finish", ["complete", "fail"])
def test_a_job_that_is_gone_is_refused(pair, finish):
    assert getattr(pair, finish)("77", "x", "t:0").code == -1


@pytest.mark.parametrize("finish", ["complete", "fail"])
def test_a_job_that_is_not_active_is_refused_after_its_lock_is_gone(pair, finish):
    id = start(pair)
    pair.command("LREM", "{P}active", 0, id)
    assert getattr(pair, finish)(id, "x", "t:0").code == -3


@pytest.mark.parametrize("finish", ["complete", "fail"])
def test_token_zero_checks_no_lock(pair, finish):
    id = start(pair)
    getattr(pair, finish)(id, "x", "0")


def test_a_finish_takes_the_job_off_the_stalled_set(pair):
    id = start(pair)
    pair.stalled()
    pair.complete(id, 1, "t:0")


def test_a_deferred_failure_is_dropped_when_the_job_fails(pair):
    id = start(pair)
    pair.command("HSET", "{P}" + id, "defa", "child x failed")
    pair.fail(id, "child x failed", "t:0", unrecoverable=True)


def test_metrics_by_the_minute(pair):
    metrics = {"metrics": {"maxDataPoints": 3}}
    for wait in (0, 10_000, 50_000, 60_000, 500_000, 0):
        pair.tick(wait)
        pair.complete(start(pair), 1, "t:0", **metrics)
        pair.fail(start(pair), "boom", "t:0", **metrics)


def test_a_retried_attempt_does_not_count_in_the_metrics(pair):
    id = start(pair, attempts=2)
    pair.fail(id, "boom", "t:0", metrics={"maxDataPoints": 3})


def test_the_attempts_are_counted_over_retries(pair):
    id = start(pair, attempts=3)
    pair.fail(id, "one", "t:0")
    pair.fetch("t:1")
    pair.fail(id, "two", "t:1")
    pair.fetch("t:2")
    pair.complete(id, "at last", "t:2")


def test_many_completed_at_once_are_many_completed_singly(pair):
    for n in range(6):
        pair.add("work", {"n": n})
    pair.fetch_many(3, "t:0")
    pair.view = by_job
    pair.complete_many({"1": 1, "2": 2, "3": 3}, "t:0")
    assert pair.fetch_many(3, "t:0") == ["4", "5", "6"]
    pair.complete_many({"6": 1, "4": 2, "5": 3}, "t:0", removeOnComplete={"count": 4})


def test_many_completed_at_once_bring_as_many_new_ones(pair):
    for n in range(7):
        pair.add("work", {"n": n}, removeOnComplete=n % 2 == 0)
    pair.add("later", {}, delay=1000)
    pair.fetch_many(3, "t:0")
    pair.tick(1000)
    pair.view = by_job
    pair.complete_many({"1": 1, "2": 2, "3": 3}, "t:0", fetch_next=True, metrics={"maxDataPoints": 5})


@pytest.mark.parametrize("finish", ["complete_many", "fail_many"])
@pytest.mark.parametrize("keep", [{}, {"count": 7}, {"count": 0}, {"age": 0}])
def test_a_large_batch_in_any_order(pair, finish, keep):
    """A large batch writes the active list again instead of searching it job by job."""
    rules = {"removeOnComplete": keep, "removeOnFail": keep} if keep else {}
    pair.add_bulk([{"name": "work", "data": n} for n in range(50)])
    pair.fetch_many(50, "t:0")
    pair.view = by_job
    ids = [str(1 + (n * 37) % 50) for n in range(50)]
    getattr(pair, finish)(dict.fromkeys(ids[:40], "x"), "t:0", **rules)
    assert pair.fetch("t:1") is None
    getattr(pair, finish)(dict.fromkeys(ids[40:], "x"), "t:0", **rules)


@pytest.mark.parametrize("finish", ["complete_many", "fail_many"])
@pytest.mark.parametrize("size", [5, 25])
def test_a_batch_with_refused_jobs_finishes_the_others(pair, finish, size):
    pair.add_bulk([{"name": "work", "data": n} for n in range(size)])
    pair.fetch_many(size, "t:0")
    pair.command("LREM", "{P}active", 0, "2")
    pair.expire("3:lock")
    pair.command("SET", "{P}4:lock", "other")
    pair.view = by_job
    ids = [*map(str, range(size, 0, -1)), "77"]
    assert getattr(pair, finish)(dict.fromkeys(ids, "x"), "t:0").refused == {"4": -6, "3": -2, "2": -3, "77": -1}


def test_many_failed_at_once_are_many_failed_singly(pair):
    for n in range(4):
        pair.add("work", {"n": n}, attempts=1 if n else 0, stackTraceLimit=2)
    pair.fetch_many(4, "t:0")
    pair.view = by_job
    pair.fail_many({"1": "a", "3": "b", "2": "c"}, "t:0", removeOnFail={"count": 2}, metrics={"maxDataPoints": 5})
