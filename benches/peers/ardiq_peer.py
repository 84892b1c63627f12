"""ArdiQ as a peer: ``enqueue_many`` in chunks; concurrency as asked, results kept for 1 ms. It needs Python 3.12."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ardiq import Ardiq

from benches.harness.payload import payloads
from benches.peers import awaited, channel
from benches.peers.channel import Order, Run

_CHUNK = 1_000


def connect(order: Order, run: Any = None, **options: Any) -> tuple[Any, Any]:
    app: Any = Ardiq(order["url"], order["queue"], result_ttl_ms=1, **options)

    async def handle(data: dict[str, Any]) -> None:
        run(data)

    return app, app.task(handle)


@asynccontextmanager
async def opened(order: Order) -> AsyncIterator[awaited.AddOne]:
    _, task = connect(order)
    yield lambda data: task.enqueue(data)


async def add_bulk(order: Order) -> None:
    app, task = connect(order)
    data = payloads(order["jobs"], order["payload"])
    channel.ready()
    for start in range(0, len(data), _CHUNK):
        await app.enqueue_many([task.prepare(one) for one in data[start : start + _CHUNK]])
    channel.done()


async def process(order: Order) -> None:
    run = Run(order)
    app, _ = connect(order, run, concurrency=order["worker"]["concurrency"])
    await awaited.run_until_stop(app.run())
    run.done()


async def count(order: Order) -> None:
    app, _ = connect(order)
    waiting = await app.queue_size()
    channel.ready()
    channel.done(waiting=waiting)


def main() -> None:
    logging.disable(logging.WARNING)
    channel.serve("ardiq", {**awaited.tasks(opened), "add_bulk": add_bulk, "process": process, "count": count})
