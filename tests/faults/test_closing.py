"""A worker closes: jobs not started go back, running jobs may finish until the deadline, others are left to stall."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bullrush import Queue, Worker, aio
from tests.waiting import wait_until
from tests.watching import is_connected

from .handlers import Handlers


class Running:
    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.outcome: list[object] = []
        self._thread = threading.Thread(target=lambda: self.outcome.append(worker.run()))
        self._thread.start()

    def close(self, **how) -> float:
        """Close the worker; return how long it took."""
        began = time.monotonic()
        self.worker.close(**how)
        self._thread.join()
        return time.monotonic() - began


@pytest.fixture
def gate(tmp_path) -> Iterator[Path]:
    path = tmp_path / "gate"
    yield path
    path.touch()  # handler threads that did not end before the deadline


@pytest.fixture
def run(ledger, server, gate) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def start(**options) -> Running:
        started.append(Running(Worker("work", Handlers(ledger), **{"url": server.url, **options})))
        return started[-1]

    yield start
    gate.touch()
    for running in started:
        running.close(force=True)


def gated(queue: Queue, gate: Path, count: int, **options) -> list[str]:
    jobs = [{"name": "gated", "data": {"gate": str(gate)}, "opts": options}] * count
    return [job.id for job in queue.add_bulk(jobs)]


@pytest.fixture(params=[5, 200], ids=["a_few", "hundreds"])
def claimed(request, queue, own_redis, run, gate, ledger) -> tuple[Running, list[str]]:
    """Return a worker that runs one job and has claimed others, and the ids of all."""
    ids = gated(queue, gate, 1 + request.param)
    running = run(prefetch=request.param)
    wait_until(lambda: own_redis.llen("bull:work:active") == len(ids), "all are fetched")
    wait_until(lambda: ledger.begun == ids[:1], "one runs")
    return running, ids


def test_jobs_claimed_ahead_go_back_to_the_front_in_their_order(queue, own_redis, claimed, gate, ledger):
    running, ids = claimed
    later = [job.id for job in queue.add_bulk([{"name": "quick"}] * 3)]
    closing = threading.Thread(target=running.close)
    closing.start()
    wait_until(lambda: own_redis.lrange("bull:work:active", 0, -1) == ids[:1], "they are back")
    assert own_redis.lrange("bull:work:wait", 0, -1)[::-1] == ids[1:] + later
    assert not any(own_redis.exists(f"bull:work:{job_id}:lock") for job_id in ids[1:])
    gate.touch()
    closing.join()
    assert queue.get_job(ids[0]).get_state() == "completed"
    assert {queue.get_job(job_id).attempts_made for job_id in ids[1:]} == {0}
    assert ledger.begun == ids[:1]


def test_jobs_with_a_priority_go_back_to_the_front_of_it(queue, own_redis, run, gate, ledger):
    ids = gated(queue, gate, 4, priority=5)
    later = queue.add("quick", priority=5).id
    running = run(prefetch=3)
    wait_until(lambda: ledger.begun == ids[:1], "one runs")
    closing = threading.Thread(target=running.close)
    closing.start()
    wait_until(lambda: own_redis.zcard("bull:work:prioritized") == 4, "they are back")
    gate.touch()
    closing.join()
    handed: list[str] = []
    Worker("work", lambda job: handed.append(job.id), url=queue._url, prefetch=0).run(until="drained")
    assert handed[-1] == later
    assert sorted(handed) == sorted([*ids[1:], later])


def test_running_jobs_finish_and_the_worker_waits_for_them(queue, run, gate, ledger):
    ids = gated(queue, gate, 3)
    running = run(concurrency=3)
    wait_until(lambda: len(ledger.begun) == 3, "all run")
    closing = threading.Thread(target=running.close)
    closing.start()
    wait_until(lambda: running.worker.closing, "it is closing")
    assert not running.outcome
    gate.touch()
    closing.join()
    assert [queue.get_job(job_id).get_state() for job_id in ids] == ["completed"] * 3
    assert running.outcome[0].completed == 3


def test_locks_are_renewed_until_the_last_job_has_finished(queue, own_redis, run, gate, ledger):
    (job_id,) = gated(queue, gate, 1)
    running = run(lock_duration=1000, stalled_interval=100)
    wait_until(lambda: ledger.begun, "it runs")
    closing = threading.Thread(target=running.close)
    closing.start()
    lock = f"bull:work:{job_id}:lock"
    for _ in range(3):  # 500 ms each: together longer than the lock lasts
        low = own_redis.pttl(lock)
        wait_until(lambda low=low: own_redis.pttl(lock) < low, "the lock runs down")
        low = own_redis.pttl(lock)
        wait_until(lambda low=low: own_redis.pttl(lock) > low, "the lock is renewed")
    gate.touch()
    closing.join()
    assert queue.get_job(job_id).get_state() == "completed"
    assert ledger.begun == [job_id]


@pytest.mark.parametrize("how", [{"timeout": 300}, {"force": True}], ids=["after_a_deadline", "by_force"])
def test_jobs_that_take_too_long_are_left_to_the_stalled_check(queue, own_redis, run, gate, ledger, how):
    ids = gated(queue, gate, 2)
    # After one stall of three allowed, the jobs may run at the same time again.
    short_locks = {"lock_duration": 1000, "stalled_interval": 200, "max_stalled_count": 2}
    running = run(concurrency=2, **short_locks)
    wait_until(lambda: len(ledger.begun) == 2, "both run")
    assert running.close(**how) < 20
    assert sorted(own_redis.lrange("bull:work:active", 0, -1)) == ids
    wait_until(lambda: not any(own_redis.exists(f"bull:work:{job_id}:lock") for job_id in ids), "their locks expire")
    run(concurrency=2, **short_locks)
    wait_until(lambda: len(ledger.begun) == 4, "they run again")
    gate.touch()
    wait_until(lambda: queue.get_completed_count() == 2, "they are completed")
    wait_until(lambda: len(ledger.ended) == 4, "all handlers have returned")
    assert [queue.get_job(job_id).stalled_counter for job_id in ids] == [1, 1]
    ledger.check(own_redis, "work", duplicates=2)


def test_without_time_for_handlers_only_their_jobs_are_left(own_redis, claimed):
    running, ids = claimed
    running.close(timeout=0)
    assert own_redis.lrange("bull:work:active", 0, -1) == ids[:1]
    assert own_redis.lrange("bull:work:wait", 0, -1)[::-1] == ids[1:]


@pytest.mark.parametrize("timeout", [0, 20])
def test_jobs_of_a_fetch_whose_reply_comes_after_the_deadline_go_back(queue, own_redis, proxy, run, ledger, timeout):
    running = run(concurrency=3, url=proxy.url)
    wait_until(lambda: is_connected(own_redis), "it waits")
    proxy.delay(0.15)
    queue.add_bulk([{"name": "quick"}] * 3)
    wait_until(lambda: own_redis.llen("bull:work:active") == 3, "they are fetched, and the reply is on its way")
    running.close(timeout=timeout)
    assert (queue.get_waiting_count(), queue.get_active_count(), ledger.begun) == (3, 0, [])


def test_a_server_that_does_not_answer_keeps_a_closing_worker_for_a_second_at_most(
    queue, own_redis, proxy, run, gate, ledger
):
    gated(queue, gate, 1)
    running = run(concurrency=2, url=proxy.url)
    wait_until(lambda: ledger.begun and is_connected(own_redis), "it runs a job and waits for another")
    proxy.swallow(True)
    assert running.close(timeout=0) < 3


def test_a_handler_sees_that_its_time_is_over(queue, server):
    cancelled: list[bool] = []
    runs = threading.Event()

    def handle(job) -> None:
        runs.set()
        wait_until(lambda: job.cancelled, "it is cancelled")
        cancelled.append(True)

    queue.add("work")
    running = Running(Worker("work", handle, url=server.url))
    assert runs.wait(10)
    running.close(timeout=100)
    wait_until(lambda: cancelled, "the handler has noticed")


def test_tasks_that_take_too_long_are_cancelled(queue, server):
    ended: list[str] = []

    async def handle(job) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append(job.id)
            raise

    async def run() -> None:
        worker = aio.Worker("work", handle, url=server.url)
        job = await aio.Queue("work", url=server.url).add("work")
        running = asyncio.create_task(worker.run())
        while await job.get_state() != "active":
            await asyncio.sleep(0.01)
        await worker.close(timeout=100)
        await running
        while not ended:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(run(), 15))
    assert queue.get_active_count() == 1, "left to the stalled check"


def test_a_closing_worker_does_not_take_the_wake_up_of_another_worker(queue, own_redis, run, gate, ledger):
    """While one worker closes slowly, another one gets new jobs at once."""
    gated(queue, gate, 1)
    closing_worker = run(concurrency=2, drain_delay=60_000)
    wait_until(lambda: ledger.begun and is_connected(own_redis), "it runs a job and waits for another")
    closing = threading.Thread(target=closing_worker.close)
    closing.start()
    wait_until(lambda: not is_connected(own_redis), "its wait has ended")
    run(drain_delay=60_000)
    wait_until(lambda: is_connected(own_redis), "the other one waits")
    job = queue.add("quick")
    wait_until(lambda: job.get_state() == "completed", "it gets the job", seconds=20)
    gate.touch()
    closing.join()


def test_a_paused_worker_does_not_take_the_wake_up_of_another_worker(queue, own_redis, run):
    paused = run(drain_delay=60_000)
    wait_until(lambda: is_connected(own_redis), "it waits")
    paused.worker.pause()
    job = queue.add("quick")
    run(drain_delay=60_000)
    wait_until(lambda: job.get_state() == "completed", "the other one gets the job", seconds=20)


def test_closing_twice_or_before_the_run_is_harmless(queue, server, run):
    running = run()
    running.close()
    running.worker.close()
    unused = Worker("work", lambda job: None, url=server.url)
    unused.close()
    with Worker("work", lambda job: None, url=server.url):
        pass
