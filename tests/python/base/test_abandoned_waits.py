"""A cancelled wait loses nothing: the next caller gets the job or event that it would have returned."""

import asyncio
import signal
import threading
from collections.abc import Callable

import pytest
from redis import Redis

from bullrush import Queue, QueueEvents, Worker, aio


async def give_up(wait: asyncio.Future) -> None:
    """Cancel a wait that has begun, as `asyncio.wait_for` does."""
    await asyncio.sleep(0.02)
    wait.cancel()
    with pytest.raises(asyncio.CancelledError):
        await wait


@pytest.mark.parametrize("waits", [1, 3])
def test_an_event_that_comes_after_a_cancelled_wait_is_the_next_one(queue: Queue, redis_url: str, waits: int) -> None:
    async def main() -> None:
        async with aio.QueueEvents(queue.name, url=redis_url, autorun=False) as following:
            await following.wait_until_ready()
            events = following.iterate()
            for _ in range(waits):
                await give_up(asyncio.ensure_future(anext(events)))
            ids = [queue.add("n").id for _ in range(3)]
            reported = [await anext(events) for _ in range(6)]
            assert [event.job_id for event in reported if event.event == "waiting"] == ids

    asyncio.run(asyncio.wait_for(main(), 20))


def test_events_that_came_before_their_reader_was_cancelled_are_kept(queue: Queue, redis_url: str) -> None:
    async def main() -> None:
        async with aio.QueueEvents(queue.name, url=redis_url, autorun=False) as following:
            await following.wait_until_ready()
            events = following.iterate()
            for number in range(20):
                wait = asyncio.ensure_future(anext(events))
                await asyncio.sleep(0)
                job_id = queue.add("n", number).id
                wait.cancel()
                reported = [] if (gone := await asyncio.gather(wait, return_exceptions=True))[0] is None else gone
                reported = [event for event in reported if not isinstance(event, BaseException)]
                while len(reported) < 2:
                    reported.append(await anext(events))
                assert [event.job_id for event in reported] == [job_id, job_id]

    asyncio.run(asyncio.wait_for(main(), 20))


def test_a_job_that_comes_after_a_cancelled_wait_stays_in_the_queue(queue: Queue, redis_url: str) -> None:
    async def main() -> None:
        async with aio.Worker(queue.name, url=redis_url) as worker:
            await give_up(asyncio.ensure_future(worker.get_next_job("gone")))
            job = queue.add("n")
            taken = await worker.get_next_job("next")
            assert taken is not None and taken.id == job.id and taken.token == "next"

    asyncio.run(asyncio.wait_for(main(), 20))


def test_a_job_that_was_fetched_before_the_wait_was_cancelled_goes_back(
    queue: Queue, redis: Redis, redis_url: str
) -> None:
    async def main() -> None:
        async with aio.Worker(queue.name, url=redis_url) as worker:
            for number in range(20):
                job = queue.add("n", number)
                wait = asyncio.ensure_future(worker.get_next_job("gone"))
                await asyncio.sleep(0)
                wait.cancel()
                (taken,) = await asyncio.gather(wait, return_exceptions=True)
                if isinstance(taken, asyncio.CancelledError):
                    taken = await worker.get_next_job("next")
                assert isinstance(taken, aio.Job) and taken.id == job.id
                await taken.move_to_completed(None, taken.token, fetch_next=False)

    asyncio.run(asyncio.wait_for(main(), 30))
    assert not redis.llen(f"bull:{queue.name}:active")


def test_the_next_job_of_a_cancelled_finish_goes_back(queue: Queue, redis: Redis, redis_url: str) -> None:
    async def main() -> None:
        async with aio.Worker(queue.name, url=redis_url) as worker:
            first, second = queue.add("n"), queue.add("n")
            taken = await worker.get_next_job("token")
            assert taken is not None
            wait = asyncio.ensure_future(taken.move_to_completed(None, "token", fetch_next=True))
            await asyncio.sleep(0)
            wait.cancel()
            (brought,) = await asyncio.gather(wait, return_exceptions=True)
            if not isinstance(brought, asyncio.CancelledError):
                assert brought.id == second.id  # the reply came before the cancellation
                return
            following = await worker.get_next_job("next")
            while following is None:
                following = await worker.get_next_job("next")
            assert following.id == second.id
            while first.get_state() != "completed":  # it may not have reached Redis yet
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(main(), 20))


def test_a_wait_interrupted_by_a_signal_takes_no_job(queue: Queue, worker: Callable[..., Worker]) -> None:
    def interrupt(*_: object) -> None:
        raise InterruptedError

    by_hand = worker()
    by_hand.get_next_job("token", block=False)
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        threading.Timer(0.5, signal.raise_signal, [signal.SIGUSR1]).start()
        with pytest.raises(InterruptedError):
            by_hand.get_next_job("gone")
    finally:
        signal.signal(signal.SIGUSR1, before)
    job = queue.add("n")
    taken = by_hand.get_next_job("next")
    assert taken is not None and taken.id == job.id


def test_an_interrupted_loop_over_events_goes_on_with_the_next_one(queue: Queue, redis_url: str) -> None:
    def interrupt(*_: object) -> None:
        raise InterruptedError

    with QueueEvents(queue.name, url=redis_url) as following:
        following.wait_until_ready()
        events = following.iterate()
        before = signal.signal(signal.SIGUSR1, interrupt)
        try:
            threading.Timer(0.5, signal.raise_signal, [signal.SIGUSR1]).start()
            with pytest.raises(InterruptedError):
                next(events)
        finally:
            signal.signal(signal.SIGUSR1, before)
        job = queue.add("n")
        assert [next(events).job_id, next(events).job_id] == [job.id, job.id]
