"""Queue events with asyncio."""

import asyncio
import time

import pytest

from bullrush import Event, aio


def test_asyncio_iterates_and_listens(redis_url: str, queue_name: str) -> None:
    async def main() -> tuple[list[str], list[str], list[str]]:
        looped: list[str] = []
        reported: list[str] = []
        async with (
            aio.Queue(queue_name, url=redis_url) as queue,
            aio.QueueEvents(queue_name, url=redis_url) as events,
            aio.QueueEventsProducer(queue_name, url=redis_url) as producer,
        ):
            await events.wait_until_ready()

            async def note(event: Event) -> None:
                await asyncio.sleep(0)
                reported.append(event.event)

            await queue.add("n")
            async for event in events:
                looped.append(event.event)
                if event.event == "waiting":
                    break
            events.on("custom", note)
            assert events.is_running()
            # The task runs when the loop waits; before that only the listener would get the event.
            publishing = asyncio.create_task(producer.publish_event("custom", n=1))
            async for event in events:
                looped.append(event.event)
                break
            await publishing
            rest = [event.event async for event in events.iterate(timeout=50)]
            return looped, reported, rest

    looped, reported, rest = asyncio.run(asyncio.wait_for(main(), 10))
    assert looped == ["added", "waiting", "custom"]
    assert (reported, rest) == (["custom"], [])


def test_asyncio_closes_at_once(redis_url: str, queue_name: str) -> None:
    async def main() -> float:
        events = aio.QueueEvents(queue_name, url=redis_url)
        await events.wait_until_ready()
        events.on("added", lambda event: None)
        loop = asyncio.ensure_future(anext(aiter(events)))
        await asyncio.sleep(0.01)
        began = time.monotonic()
        await events.close()
        with pytest.raises(StopAsyncIteration):
            await loop
        return time.monotonic() - began

    assert asyncio.run(asyncio.wait_for(main(), 20)) < 5, "it does not wait for the end of the read, 10 s"
