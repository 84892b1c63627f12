"""SAQ as a peer: concurrency as asked."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from saq import Queue, Worker

from benches.peers import awaited, channel
from benches.peers.channel import Order, Run


@asynccontextmanager
async def connected(order: Order) -> AsyncIterator[Any]:
    queue = Queue.from_url(order["url"], name=order["queue"])
    await queue.connect()
    yield queue
    await queue.disconnect()


@asynccontextmanager
async def opened(order: Order) -> AsyncIterator[awaited.AddOne]:
    async with connected(order) as queue:
        yield lambda data: queue.enqueue("handle", data=data)


async def process(order: Order) -> None:
    run = Run(order)

    async def handle(context: Any, *, data: dict[str, Any]) -> None:
        run(data)

    async with connected(order) as queue:
        worker = Worker(queue, [("handle", handle)], concurrency=order["worker"]["concurrency"])
        await awaited.run_until_stop(worker.start())
    run.done()


async def count(order: Order) -> None:
    async with connected(order) as queue:
        waiting = await queue.count("queued")
    channel.ready()
    channel.done(waiting=waiting)


def main() -> None:
    logging.disable(logging.WARNING)
    channel.serve("saq", {**awaited.tasks(opened), "process": process, "count": count})
