"""ChasquiMQ as a peer: ``add_bulk`` in chunks; concurrency as asked. It asks for Redis 8.6 or newer."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from chasquimq import Queue, Worker
from redis.asyncio import Redis

from benches.harness.payload import NAME, payloads
from benches.peers import awaited, channel
from benches.peers.channel import Order, Run

_CHUNK = 1_000
_NEEDED = (8, 6)


@asynccontextmanager
async def opened(order: Order) -> AsyncIterator[awaited.AddOne]:
    async with Queue(order["queue"], redis_url=order["url"]) as queue:
        yield lambda data: queue.add(NAME, data)


async def add_bulk(order: Order) -> None:
    jobs = [{"name": NAME, "data": data} for data in payloads(order["jobs"], order["payload"])]
    async with Queue(order["queue"], redis_url=order["url"]) as queue:
        channel.ready()
        for start in range(0, len(jobs), _CHUNK):
            await queue.add_bulk(jobs[start : start + _CHUNK])
        channel.done()


async def process(order: Order) -> None:
    run = Run(order)

    async def handle(job: Any) -> None:
        run(job.data)

    worker = Worker(order["queue"], handle, redis_url=order["url"], concurrency=order["worker"]["concurrency"])
    await awaited.run_until_stop(worker.run())
    await worker.close()
    run.done()


async def count(order: Order) -> None:
    """Count the stream: it only has jobs that are not acknowledged."""
    async with Redis.from_url(order["url"]) as client:
        streams = [key async for key in client.scan_iter(f"*{order['queue']}*", _type="stream")]
        lengths = [await client.xlen(key) for key in streams if not key.endswith((b":events", b":dlq"))]
    channel.ready()
    channel.done(waiting=sum(lengths))


def checked(task: Callable[[Order], Awaitable[None]]) -> Callable[[Order], Awaitable[None]]:
    """Raise an error for a missing feature before the server refuses a command."""

    async def run(order: Order) -> None:
        async with Redis.from_url(order["url"]) as client:
            version = (await client.info("server"))["redis_version"]
        if tuple(map(int, version.split(".")[:2])) < _NEEDED:
            raise SystemExit(f"it asks for Redis {_NEEDED[0]}.{_NEEDED[1]} or newer, this is {version}")
        await task(order)

    return run


def main() -> None:
    logging.disable(logging.WARNING)
    tasks = {**awaited.tasks(opened), "add_bulk": add_bulk, "process": process, "count": count}
    channel.serve("chasquimq", {name: checked(task) for name, task in tasks.items()})
