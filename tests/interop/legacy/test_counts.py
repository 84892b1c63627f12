"""Bull counts attempts in `attemptsMade`, which hides BullMQ's own count: our workers take it over, so retries end."""

import pytest

from bullrush import Queue, Worker
from tests.interop.sides.scripted import scripted
from tests.interop.sides.their_queue import TheirQueue


@pytest.fixture(params=["0", "1"])
def hidden(request, ours: Queue, redis) -> str:
    """Return the id of a job with three attempts, of which Bull has counted some."""
    job = ours.add("welcome", {"runs": [[["throw", "no"]]]}, attempts=3)
    redis.hset(f"bull:{ours.name}:{job.id}", "attemptsMade", request.param)
    return job.id


@pytest.mark.parametrize("backoff", [None, {"type": "fixed", "delay": 1}], ids=["at_once", "delayed"])
def test_a_job_of_bull_ends_after_its_attempts(hidden, backoff, ours, redis, redis_url):
    key = f"bull:{ours.name}:{hidden}"
    before = int(redis.hget(key, "attemptsMade"))
    if backoff:
        redis.hset(key, "opts", '{"attempts":3,"backoff":{"type":"fixed","delay":1}}')
    made = []

    def fail(job) -> None:
        made.append(job.attempts_made)
        raise ValueError("no")

    with Worker(ours.name, fail, url=redis_url) as worker:
        stats = worker.run(until="drained")
    assert made == list(range(before, 3))
    assert (stats.failed, stats.retried) == (1, 2 - before)
    assert redis.hmget(key, "atm", "attemptsMade", "failedReason") == ["3", None, "no"]


def test_a_job_of_bull_that_completes_has_bullmqs_count(hidden, ours, redis, redis_url):
    before = int(redis.hget(f"bull:{ours.name}:{hidden}", "attemptsMade"))
    with Worker(ours.name, lambda job: None, url=redis_url) as worker:
        assert worker.run(until="drained").completed == 1
    assert redis.hmget(f"bull:{ours.name}:{hidden}", "atm", "attemptsMade") == [str(before + 1), None]


def test_workers_of_node_count_right_after_a_run_of_ours(hidden, theirs: TheirQueue, ours, redis, redis_url):
    key = f"bull:{ours.name}:{hidden}"
    before = int(redis.hget(key, "attemptsMade"))
    with Worker(ours.name, scripted, url=redis_url) as worker:
        worker.run(max_jobs=1)
    assert redis.hmget(key, "atm", "attemptsMade") == [str(before + 1), None]
    theirs.work()
    assert redis.hmget(key, "atm", "failedReason") == ["3", "no"]
    assert theirs.call("getJobCounts", "failed") == {"failed": 1}
