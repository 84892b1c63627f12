"""The official Python port of BullMQ as a peer."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import itertools
import platform
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bullmq import Queue, Worker

from benches.harness.payload import NAME, payloads
from benches.peers import channel

Order = Mapping[str, Any]

_PATIENCE = 1.0


async def add_bulk(order: Order) -> None:
    queue = await _queue(order)
    jobs = [{"name": NAME, "data": data} for data in payloads(order["jobs"])]
    chunk = order["chunk"]
    channel.ready()
    for start in range(0, len(jobs), chunk):
        await queue.addBulk(jobs[start : start + chunk])
    channel.done()
    await queue.close()


async def add(order: Order) -> None:
    queue = await _queue(order)
    data = payloads(order["jobs"])
    channel.ready()
    for one in data:
        await queue.add(NAME, one)
    channel.done()
    await queue.close()


async def process(order: Order) -> None:
    count = itertools.count()

    async def handle(job: Any, token: str) -> None:
        next(count)

    options = {"connection": order["url"], "autorun": False, **order["worker"]}
    worker = Worker(order["queue"], handle, options)
    channel.ready()
    running = asyncio.ensure_future(worker.run())
    await asyncio.to_thread(channel.wait_for_stop)
    # Now and then close() never returns, although no job is left to wait for.
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(worker.close(), _PATIENCE)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    channel.done(handled=next(count))


async def _queue(order: Order) -> Any:
    queue = Queue(order["queue"], {"connection": order["url"]})
    await queue.getJobCounts("wait")  # connects
    return queue


TASKS: dict[str, Callable[[Order], Awaitable[None]]] = {"add_bulk": add_bulk, "add": add, "process": process}


async def main() -> None:
    version = importlib.metadata.version("bullmq")
    channel.introduce(f"bullmq {version} for Python, Python {platform.python_version()}")
    while (order := channel.next_order()) is not None:
        await TASKS[order["task"]](order)


if __name__ == "__main__":
    asyncio.run(main())
