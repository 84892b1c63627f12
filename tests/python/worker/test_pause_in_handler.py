"""`Queue.pause` in a handler: once it has returned, no further handler of the process starts on that queue."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import Job, Queue, Worker, aio
from bullrush.errors import RedisServerError
from tests.waiting import wait_until

Make = Callable[..., Worker]
JOBS = 200
AT = 100


@pytest.fixture
def full(queue: Queue) -> Queue:
    queue.add_bulk([{"name": "n"}] * JOBS)
    return queue


def rested(queue: Queue) -> None:
    """Wait until nothing runs, and what was claimed ahead is back."""
    wait_until(lambda: queue.get_active_count() == 0)


@pytest.mark.parametrize("prefetch", [None, 50])
def test_no_prefetched_job_starts_after_a_handler_has_paused_the_queue(
    full: Queue, worker: Make, prefetch: int | None
) -> None:
    starts: list[str] = []
    paused = threading.Event()

    def handler(job: Job) -> None:
        starts.append(job.id)
        if len(starts) == AT:
            if prefetch:
                wait_until(lambda: full.get_active_count() == 1 + prefetch)
            full.pause()
            paused.set()

    worker(handler, autorun=True, prefetch=prefetch)
    assert paused.wait(30)
    rested(full)
    assert len(starts) == AT
    assert full.get_job_counts("paused", "completed") == {"paused": JOBS - AT, "completed": AT}
    full.resume()
    wait_until(lambda: full.get_completed_count() == JOBS)
    assert starts == [str(number) for number in range(1, JOBS + 1)], "each once, in order"


def test_coroutine_functions_may_pause_as_well(full: Queue, redis_url: str, queue_name: str) -> None:
    starts: list[str] = []

    async def main() -> None:
        async with aio.Queue(queue_name, url=redis_url) as queue:
            paused = asyncio.Event()

            async def handler(job: Any) -> None:
                starts.append(job.id)
                if len(starts) == AT:
                    await queue.pause()
                    paused.set()

            async with aio.Worker(queue_name, handler, url=redis_url, prefetch=50) as worker:
                run = asyncio.create_task(worker.run())
                await asyncio.wait_for(paused.wait(), 30)
                await asyncio.to_thread(rested, full)
                assert len(starts) == AT
                await worker.close()
                await run

    asyncio.run(main())


@pytest.mark.parametrize(("part", "other"), [("://", "://default:@"), ("127.0.0.1", "localhost")])
def test_all_workers_of_the_process_hold_the_queue(
    full: Queue, worker: Make, redis_url: str, part: str, other: str
) -> None:
    """Also one whose URL has another login, or another address of the server."""
    began, let_go = threading.Event(), threading.Event()
    starts: list[str] = []

    def slow(job: Job) -> None:
        starts.append(job.id)
        began.set()
        assert let_go.wait(30)

    assert part in redis_url
    with Worker(full.name, slow, url=redis_url.replace(part, other), prefetch=50, autorun=True):
        assert began.wait(30)
        wait_until(lambda: full.get_active_count() == 51)
        worker(lambda job: full.pause(), autorun=True, prefetch=50)
        wait_until(full.is_paused)
        wait_until(lambda: full.get_active_count() == 1)
        let_go.set()
        rested(full)
    assert len(starts) == 1


def test_a_pause_that_fails_lets_the_jobs_go_on(full: Queue, worker: Make, redis: Redis) -> None:
    failures: list[str] = []

    def handler(_job: Job) -> None:
        if not failures:
            redis.set(f"bull:{full.name}:paused", "no list")
            with pytest.raises(RedisServerError, match="WRONGTYPE") as refused:
                full.pause()
            redis.delete(f"bull:{full.name}:paused")
            failures.append(str(refused.value))

    worker(handler, autorun=True, prefetch=50)
    wait_until(lambda: full.get_completed_count() == JOBS)
    assert len(failures) == 1


def test_other_queues_are_not_held(full: Queue, worker: Make, redis_url: str) -> None:
    began, let_go = threading.Event(), threading.Event()

    def slow(_job: Job) -> None:
        began.set()
        assert let_go.wait(30)

    worker(slow, autorun=True, prefetch=50)
    assert began.wait(30)
    wait_until(lambda: full.get_active_count() == 51)
    with Queue(f"{full.name}-other", url=redis_url) as other:
        other.pause()
    assert full.get_active_count() == 51
    let_go.set()
