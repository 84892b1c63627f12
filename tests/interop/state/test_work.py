"""Workers: the same jobs run by BullMQ and by ours leave the same state."""

import time

import pytest

from tests.waiting import wait_until


@pytest.fixture
def within_a_minute():
    """Metrics count by the minute, and the two sides work one after the other.

    To be named before ``pair``, whose times count from its start.
    """
    wait_until(lambda: time.time() % 60 < 45, "the minute is young", 60)


def runs(*attempts):
    """Data of a job whose n-th start does the n-th list of actions."""
    return {"runs": [list(actions) for actions in attempts]}


@pytest.fixture
def pair(api_pair):
    return api_pair


@pytest.mark.parametrize("value", [None, {"ok": True}, "text", 0, False, 1.5, [], {}, ["☃", {"n": None}], 2**53 - 1])
def test_a_result(pair, value):
    pair.add("work", runs([["return", value]]))
    pair.work()


def test_jobs_of_every_kind_in_order(pair):
    for n in range(3):
        pair.add("plain", {"n": n})
        pair.add("prioritized", {"n": n}, priority=3 - n)
        pair.add("lifo", {"n": n}, lifo=True)
    pair.add("later", {}, delay=120_000)
    assert len(pair.work(name="w1")) == 9
    pair.promote_jobs()
    assert pair.work() == ["10"]


def test_a_failure(pair):
    pair.add("work", runs([["throw", "boom"]]))
    pair.work()


def test_immediate_retries(pair):
    pair.add("work", runs([["throw", "one"]], [["throw", "two"]], [["return", 3]]), attempts=3)
    pair.add("work", runs([["throw", "always"]]), attempts=2, lifo=True)
    pair.add("work", runs([["throw", "prioritized"]]), attempts=2, priority=2)
    pair.work()


@pytest.mark.parametrize(
    "backoff", [60_000, {"type": "fixed", "delay": 60_000}, {"type": "exponential", "delay": 60_000}]
)
def test_retries_after_a_backoff(pair, backoff):
    id = pair.add(
        "work", runs([["throw", "one"]], [["throw", "two"]], [["throw", "three"]]), attempts=3, backoff=backoff
    )
    for _ in range(2):
        pair.work()
        pair.promote(id)
    pair.work()


def test_an_unrecoverable_failure(pair):
    pair.add("work", runs([["unrecoverable", "never"]]), attempts=5)
    pair.work()


@pytest.mark.parametrize("limit", [0, 1])
def test_limited_stack_traces(pair, limit):
    pair.add("work", runs([["throw", "boom"]]), attempts=3, stackTraceLimit=limit)
    pair.work()


def test_progress_logs_and_new_data(pair):
    actions = [
        ["progress", 50],
        ["log", "half way"],
        ["progress", {"pct": 75}],
        ["log", "☃"],
        ["update_data", {"n": 1}],
    ]
    pair.add("work", runs([*actions, ["return", "done"]]))
    pair.work()


@pytest.mark.parametrize("keep", [1, 2])
def test_limited_logs(pair, keep):
    pair.add("work", runs([["log", "one"], ["log", "two"], ["log", "three"]]), keepLogs=keep)
    pair.work()


def test_a_job_delays_itself(pair):
    id = pair.add("work", runs([["delay", 120_000]], [["return", "later"]]))
    pair.work()
    pair.promote(id)
    pair.work()


@pytest.mark.parametrize("priority", [0, 2])
def test_a_job_goes_back_to_wait(pair, priority):
    pair.add("work", runs([["wait"]], [["return", "again"]]), priority=priority)
    pair.add("other", {}, priority=priority)
    pair.work()


@pytest.mark.parametrize("keep", [True, False, 1, {"count": 2}, {"age": 3600, "count": 1}])
@pytest.mark.parametrize("holder", ["job", "worker"])
def test_keep_rules(pair, keep, holder):
    if holder == "worker" and not isinstance(keep, dict):
        keep = {"count": int(keep)}
    rules = {"removeOnComplete": keep, "removeOnFail": keep}
    for n in range(3):
        pair.add("good", {"n": n}, **(rules if holder == "job" else {}))
        pair.add("bad", runs([["throw", f"boom {n}"]]), **(rules if holder == "job" else {}))
    pair.work(**(rules if holder == "worker" else {}))


def test_metrics(within_a_minute, pair):
    for n in range(3):
        pair.add("good", {"n": n})
        pair.add("bad", runs([["throw", "boom"]]), attempts=2)
    pair.work(metrics={"maxDataPoints": 5})


def test_a_worker_limit(pair):
    for _ in range(4):
        pair.add("work", {})
    assert len(pair.work(at_most=2, limiter={"max": 2, "duration": 60_000})) == 2


@pytest.mark.parametrize("priority", [0, 2])
def test_a_job_limits_the_queue_and_goes_back(pair, priority):
    pair.add("work", runs([["rate_limit", 60_000]]), priority=priority)
    pair.add("other", {}, priority=priority)
    assert pair.work(at_most=1) == ["1"]


def test_a_global_limit(pair):
    pair.set_global_rate_limit(3, 60_000)
    for _ in range(4):
        pair.add("work", {})
    assert len(pair.work(at_most=3)) == 3


def test_many_jobs_on_many_slots(within_a_minute, pair):
    """Batches interleave independent jobs in another order than single calls; nothing else may differ."""
    jobs = [{"name": "good", "data": {"n": n}} for n in range(150)]
    jobs += [
        {"name": "bad", "data": runs([["throw", "boom"]], [["return", n]]), "opts": {"attempts": 2}} for n in range(50)
    ]
    jobs += [{"name": "gone", "data": {}, "opts": {"removeOnComplete": True, "priority": 1 + n % 3}} for n in range(50)]
    pair.add_bulk(jobs)
    assert len(pair.work(concurrency=16, metrics={"maxDataPoints": 5})) == 300


def test_nothing_is_left_that_came_back_with_the_last_outcome(new_api_pair):
    """A retry and a last result often share a round trip; the fetch in it does not see the retried job."""
    for _ in range(15):
        pair = new_api_pair()
        pair.add("good", {})
        pair.add("bad", runs([["throw", "boom"]]), attempts=2)
        assert pair.work(concurrency=2) == ["1", "2", "2"]


def test_a_global_concurrency(pair):
    pair.set_global_concurrency(1)
    for _ in range(4):
        pair.add("work", {})
    assert len(pair.work()) == 4


def test_nothing_is_worked_while_paused(pair):
    pair.add("work", {})
    pair.pause()
    assert pair.work() == []
    pair.resume()
    assert pair.work() == ["1"]


def test_a_job_started_too_often_fails(pair):
    pair.add("work", runs([["wait"]], [["wait"]], [["return", 1]]))
    pair.work(maxStartedAttempts=2)


def test_a_retried_finished_job(pair):
    failed = pair.add("work", runs([["throw", "boom"]], [["return", 1]]))
    completed = pair.add("work", runs([["return", 1]], [["return", 2]]))
    pair.work()
    pair.retry(failed)
    pair.retry(completed, "completed")
    pair.work()


def test_a_job_over_the_stalled_limit_fails_without_a_run(pair):
    id = pair.add("work", {}, attempts=3)
    pair.command("HSET", "{P}" + id, "defa", "job stalled more than allowable limit", "stc", 2)
    assert pair.work(name="w1") == []


POLICIES = [
    "",
    "failParentOnFailure",
    "continueParentOnFailure",
    "ignoreDependencyOnFailure",
    "removeDependencyOnFailure",
]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("actions", [["return", 1], ["throw", "boom"]])
def test_a_foreign_flow(pair, policy, actions):
    children = [
        {"name": "c", "queueName": pair.name("child"), "data": runs([actions]), "opts": {"jobId": "c0"}},
        {"name": "c", "queueName": pair.name("child"), "data": {}, "opts": {"jobId": "c1"}},
    ]
    if policy:
        children[0]["opts"][policy] = True
    pair.foreign_add_flow(
        {"name": "p", "queueName": pair.name(), "data": {}, "opts": {"jobId": "p"}, "children": children}
    )
    pair.work(queue="child")
    pair.work()


@pytest.mark.parametrize("deduplication", [{"id": "d"}, {"id": "d", "ttl": 60_000}])
@pytest.mark.parametrize("actions", [["return", 1], ["throw", "boom"]])
def test_a_foreign_deduplicated_job(pair, deduplication, actions):
    pair.foreign_add("work", runs([actions]), deduplication=deduplication)
    pair.work()


@pytest.mark.parametrize("repeat", [{"every": 3_600_000, "limit": 2}, {"pattern": "0 0 0 1 1 *", "tz": "UTC"}])
def test_a_foreign_schedulers_job(pair, repeat):
    with pair.bullmq_clock_stopped(time.time_ns() // 1_000_000):
        pair.foreign_upsert_scheduler("s1", repeat, {"name": "tick", "data": {"n": 1}, "opts": {"attempts": 2}})
    for _ in range(3):
        pair.promote_jobs()
        pair.work()


def test_a_parent_that_cannot_complete_fails(pair):
    child = {"name": "c", "queueName": pair.name("child"), "data": {}, "opts": {"jobId": "c0"}}
    pair.foreign_add_flow({"name": "p", "queueName": pair.name(), "opts": {"jobId": "p"}, "children": [child]})
    pair.command("ZREM", "{P}waiting-children", "p")
    pair.command("RPUSH", "{P}wait", "p")
    pair.work()
