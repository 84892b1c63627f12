"""A job that kills its worker must not make the other jobs of that worker fail."""

import threading
import time

import pytest

from bullrush import Worker
from tests.waiting import wait_until

from .handlers import Handlers

SHORT_LOCKS = {"lock_duration": 500, "stalled_interval": 200}


def test_a_job_that_kills_its_workers_fails_alone(queue, own_redis, ledger, start_worker, server):
    """Other jobs were often fetched together with it; they never stalled because of themselves."""
    jobs = queue.add_bulk([{"name": "deadly" if n == 300 else "quick"} for n in range(600)])
    poison = jobs[300].id

    def attended() -> bool:
        """Start a worker whenever there is none, as a supervisor does."""
        if not workers or not workers[-1].alive:
            workers.append(start_worker(server.url, **SHORT_LOCKS))
        return queue.get_completed_count() + queue.get_failed_count() == 600

    workers = []
    wait_until(attended, "all jobs are finished", seconds=40)
    assert own_redis.zrange("bull:work:failed", 0, -1) == [poison]
    assert queue.get_job(poison).failed_reason == "job stalled more than allowable limit"
    assert ledger.begun.count(poison) <= 3  # the first start may have been one of a prefetched job: it is not counted


def test_handlers_that_become_slow_leave_few_jobs_prefetched(queue, own_redis, ledger, start_worker, server):
    queue.add_bulk([{"name": "quick"}] * 3000 + [{"name": "slow"}] * 600)
    start_worker(server.url, concurrency=2)
    wait_until(lambda: queue.get_completed_count() >= 3000, "the quick ones are done")
    wait_until(lambda: own_redis.llen("bull:work:active") <= 4, "few are fetched")
    for _ in range(20):
        assert own_redis.llen("bull:work:active") <= 4


@pytest.mark.timeout(120)
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("slots", [{"concurrency": 10}, {"batch_size": 50}], ids=["slots", "batches"])
def test_only_the_job_that_ends_the_process_fails_and_soon(queue, own_redis, ledger, start_worker, server, slots, most):
    """Jobs that ran beside it, or in its batch, stalled as often as it did: each of them then runs alone."""
    jobs = queue.add_bulk([{"name": "exiting" if n == 37 else "brief"} for n in range(100)])
    poison = jobs[37].id
    workers = []

    def attended() -> bool:
        if not workers or not workers[-1].alive:
            workers.append(start_worker(server.url, max_stalled_count=most, **slots, **SHORT_LOCKS))
        return queue.get_completed_count() + queue.get_failed_count() == 100

    wait_until(attended, "all jobs are finished", seconds=100)
    assert own_redis.zrange("bull:work:failed", 0, -1) == [poison]
    assert ledger.begun.count(poison) <= most + 2
    assert len(workers) <= most + 3


@pytest.mark.parametrize("prefetch", [None, 30])
def test_prefetched_jobs_of_a_killed_worker_do_not_count_as_stalled(
    queue, own_redis, ledger, start_worker, server, prefetch
):
    ids = [job.id for job in queue.add_bulk([{"name": "brief"}] * 1500)]
    killed = start_worker(server.url, concurrency=2, prefetch=prefetch, **SHORT_LOCKS)
    wait_until(lambda: len(ledger.ended) > 300, "the worker is under load")
    killed.kill()
    begun = set(ledger.begun)
    successor = start_worker(server.url, concurrency=2, max_stalled_count=0, **SHORT_LOCKS)
    wait_until(lambda: queue.get_completed_count() + queue.get_failed_count() == 1500, "all are finished")
    successor.terminate()
    assert successor.wait() == 0
    # Two handlers may have been about to begin: Redis knew of it, the ledger did not yet.
    assert len(set(own_redis.zrange("bull:work:failed", 0, -1)) - begun) <= 2
    stalls = {job_id: own_redis.hget(f"bull:work:{job_id}", "stc") for job_id in ids}
    stalled = {job_id for job_id, count in stalls.items() if count not in (None, "0")}
    assert len(stalled - begun) <= 2


def test_long_jobs_of_a_dead_worker_all_run_again_soon(queue, own_redis, ledger, server, tmp_path):
    """Each that runs on shortens the time in which the next one runs alone."""
    gate = tmp_path / "gate"
    jobs = [queue.add("gated", {"gate": str(gate)}).id for _ in range(8)]
    for job_id in jobs:
        own_redis.hset(f"bull:work:{job_id}", "stc", 1)
    worker = Worker("work", Handlers(ledger), url=server.url, concurrency=10, lock_duration=2_000)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        wait_until(lambda: ledger.begun == jobs[:1], "the first one runs")
        began = time.monotonic()
        wait_until(lambda: ledger.begun == jobs, "all run")
        # 2 + 1 + 0.5 + 0.25 + 3 * 0.2 s, and not 7 * 2.
        assert time.monotonic() - began < 9
        last = queue.add("quick").id
        wait_until(lambda: last in ledger.ended, "others run beside them")
    finally:
        gate.touch()
        worker.close()
        working.join()


@pytest.mark.parametrize("first", ["suspect", "plain"])
def test_a_long_job_and_one_that_must_start_alone_keep_each_other_waiting_for_a_lock_duration_only(
    queue, own_redis, ledger, server, tmp_path, first
):
    gate = tmp_path / "gate"
    suspect, plain = [queue.add("gated", {"gate": str(gate)}).id for _ in range(2)]
    own_redis.hset(f"bull:work:{suspect}", "stc", 1)
    if first == "plain":
        own_redis.lmove("bull:work:wait", "bull:work:wait", "RIGHT", "LEFT")
    worker = Worker("work", Handlers(ledger), url=server.url, concurrency=2, lock_duration=600)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        wait_until(lambda: len(ledger.begun) == 1, "the first one runs")
        wait_until(lambda: len(ledger.begun) == 2, "both run")
        assert ledger.begun == ([suspect, plain] if first == "suspect" else [plain, suspect])
    finally:
        gate.touch()
        worker.close()
        working.join()
