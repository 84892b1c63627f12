"""When a loop or a task ends, the jobs that ran there go back to wait: they have not failed."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest
from redis import Redis

from bullrush import Queue, Worker, aio

ABANDONED = """
import asyncio, sys
from bullrush import aio

async def handler(job):
    print("started", flush=True)
    await asyncio.sleep(1000)

async def main():
    global worker, running
    worker = aio.Worker(sys.argv[2], handler, url=sys.argv[1], concurrency=2)
    running = asyncio.ensure_future(worker.run())
    while len(worker._run.runner._tasks if worker._run else ()) < 2:
        await asyncio.sleep(0.01)

loop = asyncio.new_event_loop()
loop.run_until_complete(main())
if sys.argv[3] == "closed":
    loop.close()
"""


class Started:
    """A handler that signals when this many of it run, and then keeps running."""

    def __init__(self, count: int = 1) -> None:
        self.left = count
        self.all = asyncio.Event()

    async def __call__(self, _job: aio.Job) -> None:
        self.left -= 1
        if not self.left:
            self.all.set()
        await asyncio.sleep(1000)


@pytest.mark.parametrize("batch_size", [1, 3], ids=["jobs", "batches"])
def test_a_program_that_ends_gives_back_what_runs(queue: Queue, redis: Redis, redis_url: str, batch_size: int) -> None:
    async def main() -> None:
        started = Started(6 // batch_size)
        handled = {"batch_handler": started, "batch_size": batch_size} if batch_size > 1 else {"handler": started}
        worker = aio.Worker(queue.name, url=redis_url, concurrency=6 // batch_size, **handled)
        running = asyncio.create_task(worker.run())
        await started.all.wait()
        assert not running.done()
        raise ValueError("something else failed")

    jobs = queue.add_bulk([{"name": "n"} for _ in range(6)])
    with pytest.raises(ValueError, match="something else failed"):
        asyncio.run(asyncio.wait_for(main(), 20))
    assert [job.get_state() for job in jobs] == ["waiting"] * 6
    assert not redis.exists(*(f"bull:{queue.name}:{job.id}:lock" for job in jobs))
    assert {(job.attempts_made, job.failed_reason) for job in queue.get_waiting()} == {(0, None)}


def test_a_cancelled_run_waits_for_its_jobs(queue: Queue, redis_url: str) -> None:
    async def main() -> None:
        began, go_on = asyncio.Event(), asyncio.Event()

        async def handler(_job: aio.Job) -> None:
            began.set()
            await go_on.wait()

        running = asyncio.create_task(aio.Worker(queue.name, handler, url=redis_url).run())
        await began.wait()
        running.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await running

    job = queue.add("n")
    asyncio.run(asyncio.wait_for(main(), 20))
    assert job.get_state() == "completed"


def test_a_task_cancelled_by_others_gives_its_job_back_and_the_worker_goes_on(queue: Queue, redis_url: str) -> None:
    async def handler(_job: aio.Job) -> None:
        tasks.append(asyncio.current_task())
        if len(tasks) == 1:
            tasks[0].cancel()
            await asyncio.sleep(1000)

    async def main() -> None:
        stats = await aio.Worker(queue.name, handler, url=redis_url).run(until="drained")
        assert (stats.completed, stats.failed, stats.retried) == (1, 0, 0)

    tasks: list = []
    queue.add("n")
    asyncio.run(asyncio.wait_for(main(), 20))
    assert len(tasks) == 2


def test_a_task_that_is_cancelled_again_and_again_does_not_run_all_the_time(
    queue: Queue, worker: Callable[..., Worker], caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(_job: aio.Job) -> None:
        task = asyncio.current_task()
        assert task is not None
        starts.append(time.monotonic())
        if len(starts) < 5:
            task.cancel()
            await asyncio.sleep(1000)

    starts: list[float] = []
    job = queue.add("n")
    assert worker(handler).run(until="drained", max_seconds=20).completed == 1
    assert starts[-1] - starts[-2] > 0.9
    done = queue.get_job(job.id)
    assert done is not None and (done.attempts_made, done.attempts_started) == (1, 5)
    assert caplog.text.count("its task was cancelled again") == 1


def test_a_handler_that_raises_the_cancellation_of_another_task_has_failed(
    queue: Queue, worker: Callable[..., Worker]
) -> None:
    async def handler(_job: aio.Job) -> None:
        other = asyncio.ensure_future(asyncio.sleep(1000))
        other.cancel()
        await other

    job = queue.add("n")
    assert worker(handler).run(until="drained", max_seconds=20).failed == 1
    failed = queue.get_job(job.id)
    assert failed is not None and failed.failed_reason == "CancelledError"


@pytest.mark.parametrize("end", ["closed", "stopped"])
def test_jobs_of_a_closed_loop_go_back_and_the_program_ends(queue: Queue, redis_url: str, end: str) -> None:
    jobs = queue.add_bulk([{"name": "n"} for _ in range(3)])
    program = [sys.executable, "-W", "ignore", "-c", ABANDONED, redis_url, queue.name, end]
    subprocess.run(program, check=True, timeout=30, capture_output=True)
    assert [job.get_state() for job in jobs] == ["waiting"] * 3
    assert [job.attempts_made for job in queue.get_waiting()] == [0] * 3


def test_ctrl_c_in_a_coroutine_on_the_main_thread_gives_the_job_back_and_leaves_the_run(
    queue: Queue, redis_url: str
) -> None:
    async def handler(_job: aio.Job) -> None:
        raise KeyboardInterrupt

    async def main() -> None:
        with pytest.raises(KeyboardInterrupt):
            await aio.Worker(queue.name, handler, url=redis_url).run()

    job = queue.add("n")
    assert threading.current_thread() is threading.main_thread()
    asyncio.run(asyncio.wait_for(main(), 20))
    assert job.get_state() == "waiting"


def test_ctrl_c_in_process_job_gives_the_job_back(queue: Queue, worker: Callable[..., Worker]) -> None:
    def handler(_job: object) -> None:
        raise KeyboardInterrupt

    job = queue.add("n")
    by_hand = worker(handler)
    taken = by_hand.get_next_job("token")
    assert taken is not None
    with pytest.raises(KeyboardInterrupt):
        by_hand.process_job(taken, "token")
    assert job.get_state() == "waiting"
