"""Taskiq as a peer: the broker with acknowledgements (Redis streams), concurrency as asked, no results kept."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import Redis
from taskiq.api import run_receiver_task
from taskiq_redis import RedisStreamBroker

from benches.peers import awaited, channel
from benches.peers.channel import Order, Run


@asynccontextmanager
async def connected(order: Order, run: Any = None) -> AsyncIterator[tuple[Any, Any]]:
    broker = RedisStreamBroker(order["url"], queue_name=order["queue"])

    async def handle(data: dict[str, Any]) -> None:
        run(data)

    task = broker.register_task(handle, task_name="handle")
    await broker.startup()
    yield broker, task
    await broker.shutdown()


@asynccontextmanager
async def opened(order: Order) -> AsyncIterator[awaited.AddOne]:
    async with connected(order) as (_, task):
        yield lambda data: task.kiq(data)


async def process(order: Order) -> None:
    run = Run(order)
    async with connected(order, run) as (broker, _):
        broker.is_worker_process = True
        await awaited.run_until_stop(run_receiver_task(broker, max_async_tasks=order["worker"]["concurrency"]))
    run.done()


async def count(order: Order) -> None:
    """Count jobs that are not delivered or not acknowledged; the stream itself keeps finished jobs."""
    async with Redis.from_url(order["url"]) as client:
        groups = await client.xinfo_groups(order["queue"])
    channel.ready()
    channel.done(waiting=sum(int(group["pending"]) + int(group["lag"] or 0) for group in groups))


def main() -> None:
    logging.disable(logging.WARNING)
    channel.serve("taskiq-redis", {**awaited.tasks(opened), "process": process, "count": count})
