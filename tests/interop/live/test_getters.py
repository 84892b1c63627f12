"""Node's getters read what we wrote, and ours read what Node wrote."""

import pytest

from tests.waiting import wait_until

from .our_worker import our_worker, work_off


@pytest.fixture
def busy_queue(ours, queue_name, redis_url):
    """Our queue with jobs of ours in every state."""
    ours.add("good", {"n": 1})
    ours.add("bad", {"runs": [[["log", "row 1"], ["log", "row 2"], ["progress", 40], ["throw", "boom"]]]}, attempts=1)
    work_off(queue_name, redis_url, name="w1")
    ours.add("waits", {"n": 3})
    ours.add("waits", {"n": 4})
    ours.add("first", {"n": 5}, priority=2)
    ours.add("later", {"n": 6}, delay=60_000)
    return ours


COUNTS = {"active": 0, "completed": 1, "delayed": 1, "failed": 1, "prioritized": 1, "waiting": 2, "waiting-children": 0}


def test_counts(busy_queue, theirs):
    theirs_counts = theirs.call("getJobCounts")
    assert theirs_counts == {**COUNTS, **({"paused": 0} if "paused" in theirs_counts else {})}
    assert busy_queue.get_job_counts() == {**COUNTS, "paused": 0}


@pytest.mark.parametrize(
    ("getter", "ids"),
    [
        ("getWaiting", ["3", "4"]),
        ("getPrioritized", ["5"]),
        ("getDelayed", ["6"]),
        ("getCompleted", ["1"]),
        ("getFailed", ["2"]),
        ("getActive", []),
    ],
)
def test_jobs_by_state(busy_queue, theirs, getter, ids):
    assert [job["id"] for job in theirs.call(getter, 0, -1)] == ids
    ours = getattr(busy_queue, "get_" + getter.removeprefix("get").lower())
    assert [job.id for job in ours()] == ids


@pytest.mark.parametrize("id", ["1", "2", "3", "5", "6", "77"])
def test_states(busy_queue, theirs, id):
    assert theirs.call("getJobState", id) == busy_queue.get_job_state(id)


@pytest.mark.parametrize("id", ["1", "2", "3", "5", "6"])
def test_every_field_of_a_job(busy_queue, theirs, id):
    job, read = busy_queue.get_job(id), theirs.job(id)
    read.pop("opts")
    fields = {
        "id": job.id,
        "name": job.name,
        "data": job.data,
        "progress": job.progress,
        "returnvalue": job.returnvalue,
        "stacktrace": job.stacktrace,
        "delay": job.delay,
        "priority": job.priority,
        "timestamp": job.timestamp,
        "attemptsMade": job.attempts_made,
        "attemptsStarted": job.attempts_started,
        "stalledCounter": job.stalled_counter,
        "failedReason": job.failed_reason,
        "processedOn": job.processed_on,
        "finishedOn": job.finished_on,
        "processedBy": job.processed_by,
    }
    defaults = {"returnvalue": None, "failedReason": None, "processedOn": None, "finishedOn": None, "processedBy": None}
    assert {**defaults, **read} == fields


def test_a_job_that_does_not_exist(ours, theirs):
    assert ours.get_job("77") is None
    assert theirs.job("77") is None


@pytest.mark.parametrize("asc", [True, False])
def test_logs(busy_queue, theirs, asc):
    logs = theirs.call("getJobLogs", "2", 0, -1, asc)
    assert logs == busy_queue.get_job_logs("2", 0, -1, asc)
    assert logs["count"] == 2


def test_their_logs_and_progress(ours, theirs):
    id = theirs.add("work", {})
    theirs.on_job(id, "log", "their row ☃")
    theirs.on_job(id, "updateProgress", {"pct": 5})
    theirs.on_job(id, "updateData", {"new": True})
    assert ours.get_job_logs(id) == {"logs": ["their row ☃"], "count": 1}
    job = ours.get_job(id)
    assert (job.progress, job.data) == ({"pct": 5}, {"new": True})


def test_pause_is_seen_by_both(ours, theirs):
    for pause, resume in ((ours.pause, lambda: theirs.call("resume")), (lambda: theirs.call("pause"), ours.resume)):
        pause()
        assert theirs.call("isPaused")
        assert ours.is_paused()
        resume()
        assert not theirs.call("isPaused")
        assert not ours.is_paused()


def test_the_queue_looks_like_bullmqs(ours, theirs, redis, queue_name):
    ours.wait_until_ready()
    assert redis.hgetall(f"bull:{queue_name}:meta") == {"opts.maxLenEvents": "10000", "version": "bullmq:5.62.0"}


def test_node_sees_our_workers(theirs, queue_name, redis_url):
    with our_worker(queue_name, redis_url, name="w1"), our_worker(queue_name, redis_url):
        workers = wait_until(lambda: len(found := theirs.call("getWorkers")) == 2 and found)
        assert {worker["rawname"].rpartition(":w:")[2] for worker in workers} >= {"w1"}
        assert {worker["name"] for worker in workers} == {queue_name}


def test_delayed_jobs_by_their_due_time(ours, theirs):
    moment = 1_800_000_000_000
    for delay in (1000, 2000, 3000):
        theirs.add("later", {}, delay=delay, timestamp=moment)
    for due in (moment + 1000, moment + 1001, moment + 2500, 0):
        # Before version 6 the argument has no effect.
        expected = theirs.call("getDelayedCount", due) if theirs.node.major == 6 else None
        assert ours.get_delayed_count(due) == expected or expected is None
    assert ours.get_delayed_count() == theirs.call("getDelayedCount") == 3
