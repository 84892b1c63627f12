"""The official Python port of BullMQ as a peer."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Awaitable, Callable
from typing import Any

from bullmq import FlowProducer, Queue, Worker

from benches.harness.payload import NAME, payloads
from benches.peers import channel
from benches.peers.channel import Order

_MAX_SECONDS = 1.0


async def add_bulk(order: Order) -> None:
    queue = await _queue(order)
    jobs = [{"name": NAME, "data": data} for data in payloads(order["jobs"], order["payload"])]
    chunk = order["chunk"]
    channel.ready()
    for start in range(0, len(jobs), chunk):
        await queue.addBulk(jobs[start : start + chunk])
    channel.done()
    await queue.close()


async def add(order: Order) -> None:
    queue = await _queue(order)
    data = payloads(order["jobs"], order["payload"])
    channel.ready()
    for one in data:
        await queue.add(NAME, one)
    channel.done()
    await queue.close()


async def add_concurrent(order: Order) -> None:
    queue = await _queue(order)
    data = iter(payloads(order["jobs"], order["payload"]))

    async def add_next() -> None:
        for one in data:
            await queue.add(NAME, one)

    channel.ready()
    await asyncio.gather(*(add_next() for _ in range(order["inflight"])))
    channel.done()
    await queue.close()


async def add_paced(order: Order) -> None:
    queue = await _queue(order)
    channel.ready()
    began = time.monotonic()
    for index in range(order["jobs"]):
        await asyncio.sleep(began + index / order["rate"] - time.monotonic())
        await queue.add(NAME, {"sent": time.monotonic_ns() / 1000})
    channel.done()
    await queue.close()


async def add_flows(order: Order) -> None:
    producer = FlowProducer(order["url"])
    node = {"name": NAME, "queueName": order["queue"], "data": {}}
    flow = {**node, "children": [dict(node) for _ in range(order["children"])]}
    channel.ready()
    for start in range(0, order["jobs"], order["chunk"]):
        await producer.addBulk([flow] * min(order["chunk"], order["jobs"] - start))
    channel.done()
    await producer.close()


async def process(order: Order) -> None:
    count = itertools.count()
    latencies: list[float] = []

    async def noop(job: Any, token: str) -> None:
        next(count)

    async def sleep(job: Any, token: str) -> None:
        await asyncio.sleep(order["sleep"] / 1000)
        next(count)

    async def record(job: Any, token: str) -> None:
        latencies.append(time.monotonic_ns() / 1000 - job.data["sent"])
        next(count)

    handle = {"noop": noop, "sleep": sleep, "record": record}[order.get("act", "noop")]

    options = {"connection": order["url"], "autorun": False, **order["worker"]}
    worker = Worker(order["queue"], handle, options)
    channel.ready()
    running = asyncio.ensure_future(worker.run())
    await asyncio.to_thread(channel.wait_for_stop)
    # Sometimes close() never returns, although no job is left.
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(worker.close(), _MAX_SECONDS)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    channel.done(handled=next(count), latencies=latencies)


async def _queue(order: Order) -> Any:
    queue = Queue(order["queue"], {"connection": order["url"]})
    await queue.getJobCounts("wait")  # connects
    return queue


TASKS: dict[str, Callable[[Order], Awaitable[None]]] = {
    task.__name__: task for task in (add_bulk, add, add_concurrent, add_paced, add_flows, process)
}


def main() -> None:
    channel.serve("bullmq", TASKS)
