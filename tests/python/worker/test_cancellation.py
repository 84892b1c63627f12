"""Cancelling jobs, from this process and from others."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bullrush import Job, Queue, Worker, aio, errors
from tests.waiting import wait_until

NEVER = threading.Event()


@pytest.fixture
def start(redis_url: str, queue_name: str) -> Iterator[Callable[..., Worker]]:
    """Start a worker in the background; it is closed after the test."""
    workers = []

    def run(handler: Any = None, **options: Any) -> Worker:
        workers.append(Worker(queue_name, handler, url=redis_url, autorun=True, drain_delay=500, **options))
        return workers[-1]

    yield run
    for worker in workers:
        worker.close()


def ended(job: Job) -> str:
    """Wait for the job's failure and return its reason."""
    with pytest.raises(errors.JobFailedError) as failed:
        job.wait_until_finished(timeout=10_000)
    return str(failed.value)


def until_cancelled(started: threading.Event) -> Callable[[Job], Any]:
    def handler(job: Job) -> None:
        started.set()
        while not job.cancelled:
            NEVER.wait(0.01)
        job.check_cancelled()

    return handler


async def forever(job: "aio.Job") -> None:
    await asyncio.Event().wait()


def holds(worker: Worker, count: int) -> bool:
    """Return whether the worker has got so many jobs. In Redis they are active before."""
    return worker.health().in_hand == count


@pytest.mark.parametrize("reason", [None, "not needed any more"])
def test_a_plain_function_sees_that_its_job_was_cancelled(queue: Queue, start: Callable, reason: str | None) -> None:
    started = threading.Event()
    job = queue.add("n", {}, attempts=3)
    worker = start(until_cancelled(started))
    assert started.wait(10)
    assert worker.cancel_job(job.id, reason)
    assert ended(job) == (reason or "The job was cancelled")
    assert not worker.cancel_job(job.id)
    stored = queue.get_job(job.id)
    assert stored is not None and stored.attempts_made == 1


def test_a_coroutines_task_is_cancelled_and_the_job_fails_for_good(queue: Queue, start: Callable) -> None:
    job = queue.add("n", {}, attempts=3)
    worker = start(forever)
    wait_until(lambda: worker.cancel_job(job.id, "stop"))
    assert ended(job) == "stop"


def test_what_the_handler_raises_decides_on_a_retry(queue: Queue, start: Callable) -> None:
    starts = []

    async def handler(job: aio.Job) -> str:
        starts.append(job.attempts_started)
        if len(starts) > 1:
            return "second"
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise RuntimeError(f"undone: {job.cancel_reason}") from None
        return "never"

    job = queue.add("n", {}, attempts=2)
    worker = start(handler)
    wait_until(lambda: starts and worker.cancel_job(job.id, "stop"))
    assert job.wait_until_finished(timeout=10_000) == "second"
    stored = queue.get_job(job.id)
    assert stored is not None and stored.failed_reason == "undone: stop"


def test_a_handler_may_finish_although_its_job_was_cancelled(queue: Queue, start: Callable) -> None:
    started = threading.Event()

    def handler(job: Job) -> str:
        started.set()
        wait_until(lambda: job.cancelled)
        return "done"

    job = queue.add("n", {})
    worker = start(handler)
    assert started.wait(10)
    wait_until(lambda: worker.cancel_job(job.id))
    assert job.wait_until_finished(timeout=10_000) == "done"


def test_all_jobs_are_cancelled_those_that_have_not_begun_too(queue: Queue, start: Callable) -> None:
    jobs = queue.add_bulk([{"name": "n"} for _ in range(4)])
    worker = start(forever, concurrency=2, prefetch=2)
    wait_until(lambda: holds(worker, 4))
    worker.cancel_all_jobs("stop")
    assert [ended(job) for job in jobs] == ["stop"] * 4


@pytest.mark.parametrize("kind", ["thread", "coroutine"])
def test_another_process_cancels_a_job(queue: Queue, redis: Any, start: Callable, kind: str) -> None:
    job, other = queue.add_bulk([{"name": "n"}, {"name": "n"}])
    started = threading.Event()
    worker = start(until_cancelled(started) if kind == "thread" else forever, concurrency=2)
    wait_until(lambda: holds(worker, 2))
    assert job.cancel("from far away")
    assert ended(job) == "from far away"
    assert job.cancel() is False
    assert other.is_active()
    wait_until(lambda: not redis.exists(queue.to_key("ext:cancel")))
    worker.cancel_all_jobs()


def test_a_job_that_no_worker_has_is_not_cancelled(queue: Queue, redis: Any) -> None:
    job = queue.add("n", {})
    assert queue.cancel_job(job.id) is False
    assert queue.cancel_job("unknown") is False
    assert job.cancel() is False
    assert not redis.exists(queue.to_key("ext:cancel"))


def test_a_request_does_not_hit_a_later_run_of_the_job(queue: Queue, redis: Any, start: Callable) -> None:
    job = queue.add("n", {})
    redis.hset(queue.to_key("ext:cancel"), job.id, "token-of-a-run-before late")
    started = threading.Event()
    worker = start(until_cancelled(started))
    assert started.wait(10)
    NEVER.wait(1.3)
    assert job.is_active()
    worker.cancel_job(job.id)


def test_a_batch_is_cancelled_when_all_its_jobs_are_cancelled(queue: Queue, start: Callable) -> None:
    async def batch(jobs: list[aio.Job]) -> list[None]:
        await asyncio.Event().wait()
        return [None] * len(jobs)

    jobs = queue.add_bulk([{"name": "n"} for _ in range(2)])
    worker = start(batch_handler=batch, batch_size=2)
    wait_until(lambda: holds(worker, 2))
    assert worker.cancel_job(jobs[0].id, "one")
    assert worker.cancel_job(jobs[1].id, "two")
    assert [ended(job) for job in jobs] == ["one", "two"]


def test_an_idle_worker_cancels_nothing(redis_url: str, queue_name: str) -> None:
    with Worker(queue_name, print, url=redis_url) as worker:
        assert worker.cancel_job("1") is False
        worker.cancel_all_jobs()
