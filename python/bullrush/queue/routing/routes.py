"""The registered routes of a queue, for calls that are for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from bullrush._core import CoreQueue
from bullrush.base.operation import reply
from bullrush.errors import BullrushError
from bullrush.job.routes import RoutedHandle
from bullrush.values.naming import is_queue_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bullrush._core import Pending
    from bullrush.base.handle import CoreSettings

T = TypeVar("T")

#: Flows over several routes are not deeper.
_DEEPEST: Final = 20


class QueueRoutes(RoutedHandle):
    """A queue that speaks for its routes."""

    async def _registered(self) -> list[str]:
        """Return the names of the routes that are registered with this queue."""
        [flat] = await reply(self.core.commands([["HGETALL", self.to_key("ext:routes")]]))
        names = [f"{self._name}~{slug.decode(errors='replace')}" for slug in flat[::2]]
        return [name for name in sorted(names) if is_queue_name(name)]

    async def _route_cores(self) -> list[CoreQueue]:
        """Return the registered routes. A call on these goes to all of them at the same time."""
        return [*(await self._cores_by_route()).values()]

    async def _cores_by_route(self) -> dict[str, CoreQueue]:
        """Return the registered routes by their names; see `_route_cores`."""
        settings: CoreSettings = {**self._core_settings, "skip_metas_update": True}
        return {name: CoreQueue(self._url, self._prefix, name, **settings) for name in await self._registered()}


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
    for _ in range(_DEEPEST):
        counts = await replies([queue.get_counts(states) for queue in queues])
        left = [queue for queue, found in zip(queues, counts, strict=True) if any(found)]
        if not left:
            break
        revived.update(left)
        await replies([queue.drain(delayed) for queue in left])
    return revived
