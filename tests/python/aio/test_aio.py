"""bullrush.aio: the same calls as the blocking API, awaited."""

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine

import pytest
from redis import Redis

import bullrush
from bullrush import aio, errors


@pytest.fixture
def run() -> Callable[[Coroutine], object]:
    def run_with_deadline(coroutine: Coroutine) -> object:
        return asyncio.run(asyncio.wait_for(coroutine, 30))

    return run_with_deadline


@pytest.mark.parametrize("name", ["Queue", "Worker", "Job"])
def test_the_names_are_the_same_and_calls_are_coroutines(name: str) -> None:
    blocking, awaited = getattr(bullrush, name), getattr(aio, name)

    def public(kind: type) -> set[str]:
        return {member for member in dir(kind) if not member.startswith("_")}

    assert public(blocking) == public(awaited)
    calls = {member for member in public(awaited) if inspect.iscoroutinefunction(getattr(awaited, member))}
    assert len(calls) >= {"Queue": 40, "Worker": 3, "Job": 15}[name]
    assert not any(inspect.iscoroutinefunction(getattr(blocking, member)) for member in calls)
    for member in calls:
        assert inspect.signature(getattr(blocking, member)) == inspect.signature(getattr(awaited, member))
        assert getattr(awaited, member).__doc__


def test_a_job_is_added_worked_and_read(redis_url: str, queue_name: str, run: Callable) -> None:
    async def handler(job: aio.Job) -> int:
        await job.update_progress(10)
        await asyncio.sleep(0.001)
        return job.data * 2

    async def main() -> None:
        async with aio.Queue(queue_name, url=redis_url) as queue:
            one = await queue.add("n", 21)
            await queue.add_bulk([{"name": "n", "data": i} for i in range(200)])
            assert isinstance(one, aio.Job)
            async with aio.Worker(queue_name, handler, url=redis_url, concurrency=20) as worker:
                stats = await worker.run(until="drained")
            assert stats.completed == 201
            assert await one.wait_until_finished() == 42
            assert await queue.get_job_counts("completed") == {"completed": 201}

    run(main())


def test_concurrent_calls_share_a_connection_and_get_their_own_replies(
    redis_url: str, queue_name: str, run: Callable
) -> None:
    async def main() -> None:
        queue = aio.Queue(queue_name, url=redis_url)
        jobs = await asyncio.gather(*(queue.add("n", i) for i in range(300)))
        assert [job.data for job in jobs] == list(range(300))
        read = await asyncio.gather(*(queue.get_job(job.id) for job in jobs))
        assert [job.data for job in read if job] == list(range(300))

    run(main())
    run(main())


def test_errors_are_raised_at_the_await_and_a_cancelled_call_does_not_disturb_others(
    redis_url: str, queue_name: str, redis: Redis, run: Callable
) -> None:
    async def main() -> None:
        queue = aio.Queue(queue_name, url=redis_url)
        with pytest.raises(errors.JobNotFoundError):
            await queue.add_job_log("none", "row")
        with pytest.raises(errors.DataError):
            await queue.add("n", {1})
        redis.execute_command("CLIENT", "PAUSE", 10_000, "WRITE")
        task = asyncio.create_task(queue.add_bulk([{"name": "n", "data": {}}] * 1000))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        redis.execute_command("CLIENT", "UNPAUSE")
        assert (await queue.add("n")).id

    run(main())


def test_plain_functions_run_on_threads_and_listeners_on_the_loop(
    redis_url: str, queue_name: str, run: Callable
) -> None:
    threads: dict[str, int] = {}

    def handler(job: bullrush.Job) -> int:
        threads["handler"] = threading.get_ident()
        job.update_progress(1)
        return 7

    async def main() -> None:
        queue = aio.Queue(queue_name, url=redis_url)
        worker = aio.Worker(queue_name, handler, url=redis_url)
        reported: list[tuple] = []

        @worker.on("completed")
        async def note(job: aio.Job, result: int) -> None:
            threads["listener"] = threading.get_ident()
            reported.append(("completed", await job.get_state(), result))

        worker.on("active", lambda job: reported.append(("active", type(job))))
        worker.on("progress", lambda job, progress: reported.append(("progress", progress)))
        await queue.add("n")
        await worker.run(until="drained")
        assert reported == [("active", aio.Job), ("progress", 1), ("completed", "completed", 7)]
        assert threads["listener"] == threading.get_ident() != threads["handler"]

    run(main())


def test_cancelling_run_closes_the_worker_after_the_running_jobs(
    redis_url: str, queue_name: str, run: Callable
) -> None:
    async def main() -> None:
        started, finished = asyncio.Event(), []

        async def handler(job: aio.Job) -> None:
            started.set()
            await asyncio.sleep(0.1)
            finished.append(job.id)

        queue = aio.Queue(queue_name, url=redis_url)
        await queue.add_bulk([{"name": "n"}] * 3)
        running = asyncio.create_task(aio.Worker(queue_name, handler, url=redis_url).run())
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert len(finished) == 1
        assert await queue.get_job_counts("waiting", "active") == {"waiting": 2, "active": 0, "paused": 0}

    run(main())


def test_autorun_pause_and_close(redis_url: str, queue_name: str, run: Callable) -> None:
    async def main() -> None:
        queue = aio.Queue(queue_name, url=redis_url)

        async def handler(job: aio.Job) -> str:
            return "done"

        worker = aio.Worker(queue_name, handler, url=redis_url, autorun=True)
        job = await queue.add("n")
        assert await job.wait_until_finished(timeout=10_000) == "done"
        await worker.pause()
        assert worker.is_paused()
        await worker.close()
        assert not worker.is_running()

    run(main())


def test_a_worker_closes_from_its_own_handler(redis_url: str, queue_name: str, run: Callable) -> None:
    async def main() -> None:
        async def handler(job: aio.Job) -> None:
            await worker.close()

        worker = aio.Worker(queue_name, handler, url=redis_url)
        await aio.Queue(queue_name, url=redis_url).add("n")
        assert (await worker.run()).completed == 1

    run(main())


def test_a_lost_lock_cancels_the_task(redis_url: str, queue_name: str, redis: Redis, run: Callable) -> None:
    async def main() -> None:
        happened = []

        async def handler(job: aio.Job) -> None:
            redis.set(f"bull:{queue_name}:{job.id}:lock", "someone else")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                happened.append(job.cancelled)
                raise

        queue = aio.Queue(queue_name, url=redis_url)
        await queue.add("n")
        await aio.Worker(queue_name, handler, url=redis_url, lock_duration=400).run(max_jobs=1)
        assert happened == [True]
        assert await queue.get_active_count() == 1

    run(main())
