"""Who is connected."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from bullrush.dashboard.source import Source
from bullrush.errors import LegacyQueueError, RedisServerError
from bullrush.extending import CoreQueue, reply, run_async
from bullrush.routing import route_base


async def count_workers(source: Source, queues: Sequence[str]) -> dict[str, int] | None:
    """Return how many workers take the jobs of each queue; None if Redis does not list its connections.

    Of a route they are those whose profile matches: they may be connected as workers of its base.

    Args:
        source: where the queues are.
        queues: their names.
    """
    if not queues:
        return {}
    try:
        connected = await run_async(_connected(source.queue(queues[0]).core, queues))
    except RedisServerError:
        return None
    bases = sorted({base for name in queues if (base := route_base(name)) is not None})
    routes = {
        route: count
        for found in await asyncio.gather(*(_routes(source, base) for base in bases))
        for route, count in found.items()
    }
    return {name: routes.get(name, connected[name]) for name in queues}


async def _connected(core: CoreQueue, queues: Sequence[str]) -> Counter[str]:
    """Return the connections of the workers of some queues, by one CLIENT LIST for all of them."""
    return Counter(queue for queue, _ in await reply(core.worker_connections(queues)))


async def _routes(source: Source, base: str) -> dict[str, int]:
    try:
        return {route.queue: route.workers for route in await source.queue(base).route_status()}
    except (LegacyQueueError, RedisServerError):
        return {}
