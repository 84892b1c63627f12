"""The doctor finds nothing in queues that BullMQ 5.62.0, BullMQ 6 and bullrush use as they should."""

from datetime import datetime, timedelta, timezone

import pytest

from bullrush._core import now_ms, stop_clock
from bullrush.doctor import Doctor
from tests.interop.sides.node_process import NodeProcess
from tests.interop.sides.their_queue import TheirQueue
from tests.waiting import wait_until

from .our_worker import our_worker, work_off

DONE = {"runs": [[["return", "done"]]]}
BROKEN = {"runs": [[["throw", "broken"]]]}


@pytest.fixture
def wrong(redis_url, queue_name):
    """Return a function that tells what is wrong with the test's queue."""

    def examine():
        report = Doctor(redis_url).examine([queue_name], deep=True)
        assert report.skipped == []
        return [finding for finding in report.findings if finding.queue]

    return examine


def test_a_queue_of_theirs_has_no_finding(theirs: TheirQueue, ours, wrong):
    for _ in range(5):
        theirs.add("work", DONE)
    theirs.add("later", DONE, delay=3_600_000)
    theirs.add("urgent", DONE, priority=5)
    theirs.add("broken", BROKEN)
    theirs.call(
        "upsertJobScheduler", "often", {"every": 3_600_000}, {"name": "tick", "data": DONE, "opts": {"attempts": 3}}
    )
    theirs.call("upsertJobScheduler", "nightly", {"pattern": "0 3 * * *"}, {"name": "tick", "data": DONE})
    theirs.add("dated", DONE, timestamp=now_ms() - 5, delay=3_600_000, attempts=2)
    theirs.add(
        "dated", DONE, timestamp=now_ms() - 5, attempts=2, backoff={"type": "fixed", "delay": 1}, removeOnFail=True
    )
    theirs.add_flow({"name": "parent", "queueName": ours.name, "data": DONE, "children": [
        {"name": "child", "queueName": ours.name, "data": DONE},
        {"name": "slow", "queueName": ours.name, "data": DONE, "opts": {"delay": 3_600_000}},
    ]})  # fmt: skip
    assert wrong() == []
    with theirs.worker(concurrency=2, name="node"):
        wait_until(lambda: ours.get_completed_count() >= 8)
        assert wrong() == []
        theirs.call("pause")
        theirs.add("work", DONE)
        assert wrong() == []
        theirs.call("resume")
        wait_until(lambda: ours.get_job_counts("waiting", "active") == {"waiting": 0, "active": 0, "paused": 0})
        assert wrong() == []


@pytest.mark.parametrize("bull", ["bull2", "bull3", "bull4"], indirect=True)
@pytest.mark.parametrize("first", ["bull", "bullmq"])
def test_bull_and_bullmq_on_the_same_keys_are_named(
    bull: NodeProcess, first: str, theirs: TheirQueue, wrong, queue_name: str
):
    if first == "bullmq":
        theirs.add("work", DONE)
    bull.call("delayed", queue=queue_name)
    for _ in range(30):
        theirs.add("work", DONE)
    theirs.add("later", DONE, delay=3_600_000)
    assert [finding.code for finding in wrong()] == ["BR101"]


def test_a_queue_of_both_has_no_finding(theirs: TheirQueue, ours, wrong, redis_url):
    for number in range(10):
        (theirs if number % 2 else ours).add("work", DONE)
    with theirs.worker(name="node"), our_worker(ours.name, redis_url, name="rush"):
        wait_until(lambda: ours.get_completed_count() == 10)
        assert wrong() == []
    ours.add("work", DONE)
    work_off(ours.name, redis_url)
    assert wrong() == []


@pytest.fixture
def much_later(wrong):
    """Return a function that tells what is wrong with the test's queue as if two minutes had gone by."""

    def examine():
        stop_clock(now_ms() + 120_000)
        try:
            return wrong()
        finally:
            stop_clock(None)

    return examine


@pytest.mark.parametrize("removed", [False, True])
def test_a_repeatable_job_of_the_old_calls_that_has_reached_its_limit_is_healthy(
    old: TheirQueue, ours, much_later, removed: bool
):
    old.add("tick", DONE, repeat={"every": 100, "limit": 2}, removeOnComplete=removed)
    with old.worker() as worker:
        wait_until(lambda: sum(entry[0] == "completed" for entry in old.worker_log(worker)) == 2)
    assert ours.get_repeatable_jobs() and not ours.get_job_counts("delayed")["delayed"]
    assert much_later() == []


@pytest.mark.parametrize(
    "repeat",
    [
        {"every": 100, "limit": 2},
        {"every": 100, "limit": 3, "count": 1},
        {"pattern": "* * * * * *", "tz": "UTC", "limit": 1},
        {"pattern": "* * * * * *", "limit": 1},
    ],
)
def test_a_scheduler_that_has_reached_its_limit_is_healthy(theirs: TheirQueue, ours, much_later, repeat):
    theirs.call("upsertJobScheduler", "few", repeat, {"name": "tick", "data": DONE})
    expected = repeat["limit"] - repeat.get("count", 0)
    with theirs.worker():
        wait_until(lambda: ours.get_completed_count() == expected)
    assert ours.get_job_scheduler("few") and not ours.get_job_counts("delayed")["delayed"]
    assert much_later() == []


def test_a_scheduler_whose_pattern_has_no_time_before_its_end_is_healthy(theirs: TheirQueue, ours, much_later):
    soon = datetime.now(timezone.utc) + timedelta(seconds=2)
    pattern = f"{soon.second} {soon.minute} {soon.hour} * * *"
    rule = {"pattern": pattern, "tz": "UTC", "endDate": now_ms() + 3_600_000}
    theirs.call("upsertJobScheduler", "once", rule, {"name": "tick", "data": DONE})
    with theirs.worker():
        wait_until(lambda: ours.get_completed_count() == 1)
    assert much_later() == []
