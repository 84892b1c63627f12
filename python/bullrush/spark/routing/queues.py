"""The queues of a base queue: itself, and its routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bullrush.queue.queue import Queue


def queues_of(queue: Queue, routes: bool = True) -> list[str]:
    """Return the name of a queue, then the names of its registered routes.

    Args:
        queue: the base queue.
        routes: False returns the queue alone.

    Redis:
        One HKEYS.
    """
    if not routes:
        return [queue.name]
    (slugs,) = queue.core.commands([["HKEYS", queue.to_key("ext:routes")]]).wait()
    return [queue.name, *sorted(f"{queue.name}~{slug.decode()}" for slug in slugs)]
