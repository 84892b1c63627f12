"""The tasks of peers with an awaited ``add``: a peer only gives the function that adds one job."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any

from benches.harness.payload import payloads
from benches.peers import channel
from benches.peers.channel import Order

AddOne = Callable[[Any], Awaitable[object]]
Opened = Callable[[Order], AbstractAsyncContextManager[AddOne]]

#: Calls in flight where a peer has no call that adds many jobs.
_INFLIGHT = 100


async def add_inflight(order: Order, opened: Opened, inflight: int) -> None:
    """Add jobs with this many concurrent calls."""
    data = iter(payloads(order["jobs"], order["payload"]))
    async with opened(order) as add_one:

        async def add_next() -> None:
            for one in data:
                await add_one(one)

        channel.ready()
        await asyncio.gather(*(add_next() for _ in range(inflight)))
        channel.done()


async def add_paced(order: Order, opened: Opened) -> None:
    """Add jobs at fixed times, without waiting for their results."""
    async with opened(order) as add_one:
        channel.ready()
        began = time.monotonic()
        for index in range(order["jobs"]):
            await asyncio.sleep(channel.pause_until_due(began, index, order))
            await add_one(channel.stamped())
        channel.done()


async def run_until_stop(working: Coroutine[Any, Any, Any]) -> None:
    """Run a worker until the harness sends ``stop``."""
    channel.ready()
    running = asyncio.ensure_future(working)
    await asyncio.to_thread(channel.wait_for_stop)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def tasks(opened: Opened) -> dict[str, Callable[[Order], Any]]:
    """Return the tasks of a producer; ``opened`` connects and gives what adds one job."""
    return {
        "add": lambda order: add_inflight(order, opened, 1),
        "add_bulk": lambda order: add_inflight(order, opened, _INFLIGHT),
        "add_concurrent": lambda order: add_inflight(order, opened, order["inflight"]),
        "add_paced": lambda order: add_paced(order, opened),
    }
