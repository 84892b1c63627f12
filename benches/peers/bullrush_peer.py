"""bullrush as a peer: producers. Its workers are in `bullrush_worker`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from benches.harness.payload import NAME, payloads, table
from benches.peers import bullrush_worker, channel
from benches.peers.channel import Order
from bullrush import FlowProducer, LegacyQueue, Queue, aio


def add_bulk(order: Order) -> None:
    jobs: Any = [{"name": NAME, "data": data} for data in payloads(order["jobs"], order["payload"])]
    with Queue(order["queue"], url=order["url"]) as queue:
        queue.wait_until_ready()
        channel.ready()
        queue.add_bulk(jobs)
        channel.done()


def add_arrow(order: Order) -> None:
    jobs = table(order["jobs"], order["payload"])
    with Queue(order["queue"], url=order["url"]) as queue:
        queue.wait_until_ready()
        channel.ready()
        queue.add_arrow(jobs, name=NAME)
        channel.done()


def add(order: Order) -> None:
    with Queue(order["queue"], url=order["url"]) as queue:
        queue.wait_until_ready()
        data = payloads(order["jobs"], order["payload"])
        channel.ready()
        for one in data:
            queue.add(NAME, one)
        channel.done()


def add_async(order: Order) -> None:
    """Add with this many concurrent calls; 1: one after another."""

    async def run() -> None:
        queue = aio.Queue(order["queue"], url=order["url"])
        await queue.wait_until_ready()
        data = iter(payloads(order["jobs"], order["payload"]))

        async def add_next() -> None:
            for one in data:
                await queue.add(NAME, one)

        channel.ready()
        await asyncio.gather(*(add_next() for _ in range(order.get("inflight", 1))))
        channel.done()
        await queue.close()

    asyncio.run(run())


def add_threads(order: Order) -> None:
    """Add with this many threads, each with one call at a time."""
    from concurrent.futures import ThreadPoolExecutor

    with Queue(order["queue"], url=order["url"]) as queue, ThreadPoolExecutor(order["inflight"]) as threads:
        queue.wait_until_ready()
        data = iter(payloads(order["jobs"], order["payload"]))  # a list's iterator: safe to share

        def add_next() -> None:
            for one in data:
                queue.add(NAME, one)

        channel.ready()
        for adding in [threads.submit(add_next) for _ in range(order["inflight"])]:
            adding.result()
        channel.done()


def wait_threads(order: Order) -> None:
    """Wait with this many threads, a millisecond each time; nothing is added."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(order["inflight"]) as threads:
        turns = iter(range(order["jobs"]))

        def wait_next() -> None:
            for _ in turns:
                time.sleep(0.001)

        channel.ready()
        for waiting in [threads.submit(wait_next) for _ in range(order["inflight"])]:
            waiting.result()
        channel.done()


def wait_async(order: Order) -> None:
    """Wait with this many coroutines, a millisecond each time; nothing is added."""

    async def run() -> None:
        turns = iter(range(order["jobs"]))

        async def wait_next() -> None:
            for _ in turns:
                await asyncio.sleep(0.001)

        channel.ready()
        await asyncio.gather(*(wait_next() for _ in range(order["inflight"])))
        channel.done()

    asyncio.run(run())


def add_paced(order: Order) -> None:
    with Queue(order["queue"], url=order["url"]) as queue:
        queue.wait_until_ready()
        channel.ready()
        began = time.monotonic()
        for index in range(order["jobs"]):
            time.sleep(max(0.0, began + index / order["rate"] - time.monotonic()))
            queue.add(NAME, {"sent": time.monotonic_ns() / 1000})
        channel.done()


def add_flows(order: Order) -> None:
    node = {"name": NAME, "queue_name": order["queue"], "data": {}}
    flow: Any = {**node, "children": [dict(node) for _ in range(order["children"])]}
    with FlowProducer(url=order["url"]) as producer:
        producer.wait_until_ready()
        channel.ready()
        for start in range(0, order["jobs"], order["chunk"]):
            producer.add_bulk([flow] * min(order["chunk"], order["jobs"] - start))
        channel.done()


def migrate(order: Order) -> None:
    with (
        LegacyQueue(order["queue"], url=order["url"], prefix=order["prefix"]) as legacy,
        Queue(order["queue"], url=order["url"]) as queue,
    ):
        legacy.get_flavor()
        queue.wait_until_ready()
        channel.ready()
        legacy.migrate(queue)
        channel.done()


TASKS: dict[str, Callable[[Order], None]] = {
    task.__name__: task
    for task in (
        add_bulk,
        add_arrow,
        add,
        add_async,
        add_threads,
        wait_threads,
        wait_async,
        add_paced,
        add_flows,
        migrate,
        *bullrush_worker.TASKS,
    )
}


def main() -> None:
    channel.serve("bullrush", TASKS)
