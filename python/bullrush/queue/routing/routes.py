"""The registered routes of a queue, for calls that are for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from bullrush.base.handle import core_of
from bullrush.base.operation import reply
from bullrush.errors import BullrushError
from bullrush.values.naming import is_queue_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bullrush._core import CoreQueue, Pending
    from bullrush.base.handle import Handle

T = TypeVar("T")

#: Flows over several routes are not deeper.
DEEPEST: Final = 20


async def registered_routes(handle: Handle, *, retired: bool = False) -> list[str]:
    """Return the names of the registered routes of a queue.

    Args:
        handle: the queue.
        retired: True adds those that have retired, which may have finished jobs.
    """
    return [name for name in await reply(handle.core.route_names(retired)) if is_queue_name(name)]


async def cores_by_route(handle: Handle, *, retired: bool = False) -> dict[str, CoreQueue]:
    """Return the registered routes by their names; see `registered_routes`.

    Calls on these go to all of them at the same time.
    """
    return {name: core_of(handle, name) for name in await registered_routes(handle, retired=retired)}


async def replies(pending: Iterable[Pending[T]]) -> list[T]:
    """Return the results of several calls that run already. An error is raised when all of them have ended."""
    results: list[T] = []
    failure: BullrushError | None = None
    for one in pending:
        try:
            results.append(await reply(one))
        except BullrushError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return results


async def drain_revived(queues: Sequence[CoreQueue], *, delayed: bool) -> set[CoreQueue]:
    """Drain queues again in which jobs wait, until none does; return these queues.

    A parent becomes ready when the last of its children is removed in another queue, perhaps after its own was drained.
    Other programs may go on adding jobs, so it ends after as many rounds as any flow is deep.
    """
    states = ["wait", "paused", "prioritized", *(["delayed"] if delayed else [])]
    revived: set[CoreQueue] = set()
    for _ in range(DEEPEST):
        counts = await replies([queue.get_counts(states) for queue in queues])
        left = [queue for queue, found in zip(queues, counts, strict=True) if any(found)]
        if not left:
            break
        revived.update(left)
        await replies([queue.drain(delayed) for queue in left])
    return revived
