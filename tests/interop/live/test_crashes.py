"""A worker process of one side is killed while it runs jobs; the other side finishes them."""

import pytest

from tests.driver.worker_process import WorkerProcess
from tests.interop.sides.node_process import NodeProcess
from tests.interop.sides.their_queue import TheirQueue
from tests.waiting import wait_until

from .our_worker import our_worker

#: The first worker never finishes it, the second one does.
HELD_ONCE = {"runs": [[["hold"]], [["return", "recovered"]]]}
HELD_ALWAYS = {"runs": [[["hold"]]]}
JOBS = 5


@pytest.fixture
def node_to_kill(peer, redis_url):
    """A Node process that only this test uses."""
    process = NodeProcess(peer.library, redis_url)
    yield process
    if process.alive:
        process.close()


@pytest.fixture
def worker_to_kill(redis_url, queue_name, tmp_path):
    """Start a worker process of ours; options as keyword arguments."""
    started = []

    def start(**options):
        started.append(
            WorkerProcess(redis_url, queue_name, "tests.interop.sides.scripted:scripted", tmp_path, **options)
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()


def assert_recovered(ours, events, ids):
    for id in ids:
        job = ours.get_job(id)
        assert job.returnvalue == "recovered"
        assert (job.attempts_started, job.attempts_made, job.stalled_counter) == (2, 1, 1)
        told = [event for event in events if event.get("jobId") == id]
        assert [event["event"] for event in told] == [
            "added", "waiting", "active", "waiting", "stalled", "active", "completed"
        ]  # fmt: skip
        assert told[3]["prev"] == "active"


def read_events(redis, queue_name):
    return [fields for _, fields in redis.xrange(f"bull:{queue_name}:events")]


def test_our_stalled_pass_recovers_the_jobs_of_a_killed_node_process(node_to_kill, ours, queue_name, redis_url, redis):
    theirs = TheirQueue(node_to_kill, queue_name)
    ids = [theirs.add("work", HELD_ONCE) for _ in range(JOBS)]
    theirs.start_worker(concurrency=JOBS, lockDuration=1000, stalledInterval=300)
    wait_until(lambda: ours.get_active_count() == JOBS)
    node_to_kill.kill()
    with our_worker(queue_name, redis_url, stalled_interval=300, concurrency=2):
        wait_until(lambda: ours.get_completed_count() == JOBS)
    assert_recovered(ours, read_events(redis, queue_name), ids)


def test_their_stalled_pass_recovers_the_jobs_of_our_killed_process(theirs, ours, worker_to_kill, queue_name, redis):
    ids = [ours.add("work", HELD_ONCE).id for _ in range(JOBS)]
    process = worker_to_kill(concurrency=JOBS, lock_duration=1000, stalled_interval=300)
    wait_until(lambda: ours.get_active_count() == JOBS)
    process.kill()
    with theirs.worker(stalledInterval=300):
        wait_until(lambda: ours.get_completed_count() == JOBS)
    assert_recovered(ours, read_events(redis, queue_name), ids)


def test_a_job_that_kills_every_worker_of_ours_is_failed_by_node(theirs, ours, worker_to_kill, queue_name, redis_url):
    job = ours.add("work", HELD_ALWAYS, attempts=5)
    for turn in range(2):
        process = worker_to_kill(lock_duration=500, stalled_interval=200)
        wait_until(lambda turn=turn: ours.get_job(job.id).attempts_started == turn + 1)
        process.kill()
    with theirs.worker(stalledInterval=200):
        wait_until(lambda: ours.get_job_state(job.id) == "failed")
    assert theirs.job(job.id)["failedReason"] == "job stalled more than allowable limit"


def test_a_job_that_kills_every_node_process_is_failed_by_us(peer, ours, queue_name, redis_url):
    job = ours.add("work", HELD_ALWAYS, attempts=5)
    for turn in range(2):
        process = NodeProcess(peer.library, redis_url)
        TheirQueue(process, queue_name).start_worker(lockDuration=500, stalledInterval=200)
        wait_until(lambda turn=turn: ours.get_job(job.id).attempts_started == turn + 1)
        process.kill()
    with our_worker(queue_name, redis_url, stalled_interval=200):
        wait_until(lambda: ours.get_job_state(job.id) == "failed")
    failed = ours.get_job(job.id)
    assert failed.failed_reason == "job stalled more than allowable limit"
    assert (failed.attempts_started, failed.attempts_made, failed.stalled_counter) == (3, 1, 2)


def test_a_frozen_worker_of_theirs_cannot_finish_what_we_took_over(theirs, ours, queue_name, redis_url):
    """A running Node worker loses its lock; its outcome is refused and ours is stored."""
    job = ours.add("work", {"runs": [[["sleep", 1500], ["return", "too late"]], [["return", "in time"]]]})
    with theirs.worker(lockDuration=300, skipLockRenewal=True, skipStalledCheck=True) as worker:
        wait_until(lambda: ours.get_active_count() == 1)
        with our_worker(queue_name, redis_url, stalled_interval=200):
            wait_until(lambda: ours.get_job_state(job.id) == "completed")
            wait_until(lambda: [entry for entry in theirs.worker_log(worker) if entry[0] == "error"])
    assert ours.get_job(job.id).returnvalue == "in time"
