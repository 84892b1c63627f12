"""Handlers that take too long."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from bullrush import Job, Queue, Worker, aio
from tests.waiting import wait_until


@pytest.fixture
def worker(redis_url: str, queue_name: str) -> Callable[..., Worker]:
    return lambda handler=None, **options: Worker(queue_name, handler, url=redis_url, **options)


def test_a_coroutine_is_cancelled_and_retried_by_its_attempts(queue: Queue, worker: Callable) -> None:
    ends = []

    async def handler(job: aio.Job) -> str:
        try:
            await asyncio.sleep(60 if job.attempts_started == 1 else 0)
        except asyncio.CancelledError:
            ends.append(job.cancel_reason)
            raise
        return "quick"

    job = queue.add("n", {}, attempts=2)
    stats = worker(handler, timeout=500).run(until="drained")
    assert (stats.completed, stats.retried) == (1, 1)
    assert ends == ["timed out after 500 ms"]
    assert job.wait_until_finished() == "quick"
    stored = queue.get_job(job.id)
    assert stored is not None and stored.failed_reason == "timed out after 500 ms"
    assert stored.stacktrace == ["TimeoutError: timed out after 500 ms"]


def test_a_thread_fails_at_the_deadline_and_its_late_result_is_dropped(queue: Queue, worker: Callable) -> None:
    returned = threading.Event()
    seen = []

    def handler(job: Job) -> str:
        while not job.cancelled:
            time.sleep(0.005)
        seen.append(job.cancel_reason)
        assert returned.wait(10)
        return "late"

    job = queue.add("n", {})
    slow = worker(handler, timeout=100)
    running = threading.Thread(target=lambda: slow.run(until="drained"))
    running.start()
    with pytest.raises(Exception, match="timed out after 100 ms"):
        job.wait_until_finished(timeout=10_000)
    returned.set()
    running.join(10)
    wait_until(lambda: seen == ["timed out after 100 ms"])
    assert job.is_failed()


def test_a_hung_thread_keeps_its_slot_until_it_returns(queue: Queue, worker: Callable) -> None:
    returned = threading.Event()

    def handler(job: Job) -> None:
        if job.data == "hang":
            assert returned.wait(10)

    hung = queue.add("n", "hang")
    slow = worker(handler, timeout=100, autorun=True)
    with pytest.raises(Exception, match="timed out"):
        hung.wait_until_finished(timeout=10_000)
    job = queue.add("n", "quick")
    time.sleep(0.2)
    assert job.is_waiting()
    returned.set()
    job.wait_until_finished(timeout=10_000)
    slow.close()


async def coroutine(job: aio.Job) -> None:
    pass


@pytest.mark.parametrize("others", [{}, {"other": coroutine}], ids=["threads", "beside a loop"])
def test_the_log_names_a_job_once_whose_function_runs_on_and_holds_a_slot(
    queue: Queue, worker: Callable, caplog: Any, monkeypatch: Any, others: dict[str, Any]
) -> None:
    monkeypatch.setattr("bullrush.worker.running.slot_watch._PAUSE", 0.01)
    monkeypatch.setattr("bullrush.worker.running.slot_watch._RUNS_ON", 0.3)
    returned = threading.Event()

    def hang(job: Job) -> None:
        assert returned.wait(20)

    def stop(job: Job) -> None:
        while not job.cancelled:
            time.sleep(0.005)

    def warnings() -> list[str]:
        return [text for one in caplog.records if "still runs" in (text := one.getMessage())]

    slow = worker({"hang": hang, "stop": stop, **others}, concurrency=2, timeout=100, autorun=True)
    job, polite = queue.add("hang"), queue.add("stop")
    wait_until(warnings)
    assert slow.health().timed_out == 1
    returned.set()
    wait_until(lambda: slow.health().timed_out == 0)
    slow.close()
    assert polite.is_failed()
    (warning,) = warnings()
    assert f"Job {job.id} 'hang' of queue {queue.name!r} timed out 0 s ago" in warning
    assert "hold 1 of 2 slots" in warning


def test_the_log_names_a_job_that_was_cancelled_before_it_timed_out(
    queue: Queue, worker: Callable, caplog: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("bullrush.worker.running.slot_watch._PAUSE", 0.01)
    monkeypatch.setattr("bullrush.worker.running.slot_watch._RUNS_ON", 0.1)
    started, returned = threading.Event(), threading.Event()

    def hang(job: Job) -> None:
        started.set()
        assert returned.wait(20)

    slow = worker(hang, timeout=500, autorun=True)
    job = queue.add("n")
    assert started.wait(10) and slow.cancel_job(job.id, "nobody needs it")
    wait_until(lambda: any("its function still runs" in one.getMessage() for one in caplog.records))
    returned.set()


def test_closing_does_not_wait_for_a_hung_thread(queue: Queue, worker: Callable) -> None:
    returned = threading.Event()
    job = queue.add("n", {})
    slow = worker(lambda job: returned.wait(20) and None, timeout=100)
    running = threading.Thread(target=slow.run)
    running.start()
    with pytest.raises(Exception, match="timed out"):
        job.wait_until_finished(timeout=10_000)
    slow.close()
    running.join(10)
    assert not running.is_alive()
    returned.set()


@pytest.mark.parametrize("end", [{"until": "drained"}, {"max_jobs": 1}, {"max_seconds": 0.5}], ids=str)
def test_a_run_that_ends_by_itself_does_not_wait_for_a_hung_thread(
    queue: Queue, worker: Callable, end: dict[str, Any]
) -> None:
    returned = threading.Event()
    queue.add("n")
    ended: list[bool] = []
    slow = worker(lambda job: ended.append(returned.wait(50)), timeout=100)
    slow.run(**end)
    assert ended == []
    returned.set()


def test_a_run_does_not_wait_for_a_thread_of_asyncio_that_a_job_has_left(queue: Queue, worker: Callable) -> None:
    returned = threading.Event()
    ended: list[bool] = []

    async def leaves_a_thread(job: Job) -> None:
        await asyncio.to_thread(lambda: ended.append(returned.wait(50)))

    queue.add("n")
    stats = worker(leaves_a_thread, timeout=100).run(until="drained")
    assert (stats.failed, ended) == (1, [])
    returned.set()


def test_the_thread_of_asyncio_that_a_job_waits_for_ends_before_the_job(queue: Queue, worker: Callable) -> None:
    async def waits_for_a_thread(job: Job) -> int:
        return await asyncio.to_thread(int, "42")

    job = queue.add("n")
    worker(waits_for_a_thread).run(until="drained")
    assert queue.get_job(job.id).returnvalue == 42


def test_handlers_in_time_are_left_alone(queue: Queue, worker: Callable) -> None:
    queue.add_bulk([{"name": "n", "data": n} for n in range(500)])
    stats = worker(lambda job: job.data, timeout=5_000, concurrency=4).run(until="drained")
    assert (stats.completed, stats.failed) == (500, 0)


@pytest.mark.parametrize("coroutine", [False, True])
def test_a_batch_has_one_deadline(queue: Queue, worker: Callable, coroutine: bool) -> None:
    def plain(jobs: list[Job]) -> list[None]:
        while not all(job.cancelled for job in jobs):
            time.sleep(0.005)
        return [None] * len(jobs)

    async def awaited(jobs: list[aio.Job]) -> list[None]:
        await asyncio.Event().wait()
        return [None] * len(jobs)

    queue.add_bulk([{"name": "n", "data": n} for n in range(3)])
    handler: Any = awaited if coroutine else plain
    stats = worker(batch_handler=handler, batch_size=3, timeout=100).run(until="drained")
    assert stats.failed == 3
