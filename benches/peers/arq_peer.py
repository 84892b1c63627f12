"""arq as a peer: concurrency as asked, a poll every 10 ms instead of 500, no results kept."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from arq.connections import RedisSettings, create_pool
from arq.worker import Worker, func

from benches.peers import awaited, channel
from benches.peers.channel import Order, Run


@asynccontextmanager
async def opened(order: Order) -> AsyncIterator[awaited.AddOne]:
    pool = await create_pool(RedisSettings.from_dsn(order["url"]), default_queue_name=order["queue"])
    yield lambda data: pool.enqueue_job("handle", data)
    await pool.close()


async def process(order: Order) -> None:
    run = Run(order)

    async def handle(context: Any, data: dict[str, Any]) -> None:
        run(data)

    worker = Worker(
        [func(handle, name="handle", keep_result=0)],
        redis_settings=RedisSettings.from_dsn(order["url"]),
        queue_name=order["queue"],
        max_jobs=order["worker"]["concurrency"],
        poll_delay=0.01,
        handle_signals=False,
    )
    await awaited.run_until_stop(worker.async_run())
    with contextlib.suppress(Exception):
        await worker.close()
    run.done()


async def count(order: Order) -> None:
    pool = await create_pool(RedisSettings.from_dsn(order["url"]))
    waiting = await pool.zcard(order["queue"])
    channel.ready()
    channel.done(waiting=waiting)
    await pool.close()


def main() -> None:
    logging.disable(logging.WARNING)
    channel.serve("arq", {**awaited.tasks(opened), "process": process, "count": count})
