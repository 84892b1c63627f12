"""The queues of a base queue: itself, and its routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bullrush.queue import Queue


def queues_of(queue: Queue, routes: bool = True) -> list[str]:
    """Return the name of a queue, then the names of its routes.

    Also of those that have retired: what was counted in them still counts.

    Args:
        queue: the base queue.
        routes: False returns the queue alone.

    Redis:
        HGETALL of both lists of routes, in one round trip.
    """
    if not routes:
        return [queue.name]
    return [queue.name, *queue.core.route_names(retired=True).wait()]
