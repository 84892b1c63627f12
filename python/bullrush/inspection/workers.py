"""How many workers take the jobs of a queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from bullrush._core import route_base
from bullrush.base.handle import Handle, core_of
from bullrush.base.operation import reply
from bullrush.errors import InvalidOptionError, LegacyQueueError, RedisServerError
from bullrush.routing.profile import check_profile
from bullrush.routing.target import check_target

if TYPE_CHECKING:
    from bullrush._core import Pending


async def count_workers(handle: Handle, queues: Sequence[str]) -> dict[str, int | None]:
    """Return how many workers take the jobs of each queue; None where Redis does not say it.

    Those of a route are the ones whose profile matches, which may be connected as workers of its base. One CLIENT LIST
    serves all queues. Awaited inside an operation.

    Args:
        handle: a queue of the server.
        queues: the names of queues on this server with the same prefix.
    """
    if not queues:
        return {}
    try:
        connected = Counter(queue for queue, _ in await reply(handle.core.worker_connections(queues)))
    except RedisServerError:
        return dict.fromkeys(queues)
    counts: dict[str, int | None] = {name: connected[name] for name in queues}
    bases = {base: core_of(handle, base) for name in queues if (base := route_base(name)) is not None}
    # All of them are asked before the first answer is waited for.
    asked = [core.route_status() for core in bases.values()]
    for base, pending in zip(bases, asked, strict=True):
        counts |= await _of_routes(pending, [name for name in queues if route_base(name) == base])
    return counts


async def count_takers(handle: Handle, workers: int, target: object) -> int:
    """Return how many of the workers of a queue take a job that waits in the queue itself, not in a route.

    With ``routes_only`` a worker takes none of them, with ``claim="scan"`` those whose target it fits. Awaited inside
    an operation.

    Args:
        handle: the queue.
        workers: how many are connected.
        target: the target in the options of the job; None without one.
    """
    try:
        entries = await reply(handle.core.profiles())
    except RedisServerError:
        return workers
    return max(0, workers - sum(not _takes(orjson.loads(entry), target) for _, entry in entries))


def _takes(entry: Mapping[str, Any], target: object) -> bool:
    if entry.get("base") != "fitting" or target is None:
        return entry.get("base") != "none"
    try:
        return check_target("target", target).matches(check_profile("profile", entry["profile"]))
    except InvalidOptionError:
        return True  # nobody knows what another version makes of it


async def _of_routes(asked: Pending[str], routes: Sequence[str]) -> dict[str, int | None]:
    """Return the workers of the registered ones among some routes of a queue."""
    try:
        known = {name: workers for name, *_, workers in orjson.loads(await reply(asked))}
    except (LegacyQueueError, RedisServerError):
        return dict.fromkeys(routes)
    return {route: known[route] for route in routes if route in known}
