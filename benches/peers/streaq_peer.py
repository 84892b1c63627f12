"""streaq as a peer: ``enqueue_many`` in pipelines; concurrency as asked; no results kept."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from streaq import Worker

from benches.harness.payload import payloads
from benches.peers import awaited, channel
from benches.peers.channel import Order, Run

_CHUNK = 1_000


def connect(order: Order, run: Any = None) -> tuple[Any, Any]:
    concurrency = order.get("worker", {}).get("concurrency", 16)
    worker: Any = Worker(
        redis_url=order["url"], queue_name=order["queue"], concurrency=concurrency, handle_signals=False
    )

    async def handle(data: dict[str, Any]) -> None:
        run(data)

    return worker, worker.task(ttl=0)(handle)


@asynccontextmanager
async def opened(order: Order) -> AsyncIterator[awaited.AddOne]:
    worker, task = connect(order)
    async with worker:
        yield lambda data: task.enqueue(data)


async def add_bulk(order: Order) -> None:
    worker, task = connect(order)
    data = payloads(order["jobs"], order["payload"])
    async with worker:
        channel.ready()
        for start in range(0, len(data), _CHUNK):
            await worker.enqueue_many([task.enqueue(one) for one in data[start : start + _CHUNK]])
        channel.done()


async def process(order: Order) -> None:
    run = Run(order)
    worker, _ = connect(order, run)
    await awaited.run_until_stop(worker.run_async())
    run.done()


async def count(order: Order) -> None:
    worker, _ = connect(order)
    async with worker:
        waiting = await worker.queue_size()
    channel.ready()
    channel.done(waiting=waiting)


def main() -> None:
    logging.disable(logging.WARNING)
    channel.serve("streaq", {**awaited.tasks(opened), "add_bulk": add_bulk, "process": process, "count": count})
