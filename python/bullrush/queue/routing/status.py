"""What waits in the routes of a queue, and which of them no worker serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from bullrush._core import route_base
from bullrush.base.handle import Handle
from bullrush.base.operation import operation, reply
from bullrush.errors import InvalidOptionError
from bullrush.routing.target import Target

if TYPE_CHECKING:
    from bullrush.routing.profile import Profile


@dataclass(frozen=True)
class RouteStatus:
    """The jobs of one target, and who may run them.

    Attributes:
        queue: the name of the route.
        target: what its jobs need, with the fallback of the route.
        waiting: how many jobs may run now: those that wait, are prioritized or paused, and delayed ones that are due.
        active: how many jobs run, or were left by a worker that died.
        oldest_age: for how many ms the oldest job that waits has waited; None if there is none.
        workers: how many workers may take them: live ones whose profile matches, and connected ones of the route
            itself, also of Node. Where Redis does not list its connections, only profiles count.
    """

    queue: str
    target: Target
    waiting: int
    active: int
    oldest_age: int | None
    workers: int

    @property
    def unmatched(self) -> bool:
        """True if jobs wait, or were left by a worker that died, and no other worker takes them."""
        return self.waiting + self.active > 0 and self.workers == 0


class QueueRouting(Handle):
    """The calls about what jobs need and what workers have."""

    @operation
    async def route_status(self) -> list[RouteStatus]:
        """Return the routes of this queue, by name: what waits in each, and how many workers may take it.

        A worker counts while it has renewed its profile in the last 30 s. Routes that another version has registered
        are left out.

        Raises:
            InvalidOptionError: this queue is a route itself.

        Redis:
            Two round trips, and two for each 32 routes; constant time per route and connection (CLIENT LIST).
        """
        base = route_base(self._name)
        if base is not None:
            raise InvalidOptionError(
                f"{self._name!r} is a route, which has no routes: ask {type(self).__name__}({base!r})"
            )
        rows: list[list[Any]] = orjson.loads(await reply(self.core.route_status()))
        return [RouteStatus(*row) for row in rows]

    @operation
    async def get_profiles(self) -> dict[str, Profile]:
        """Return the profiles of the live workers of this queue, by the id of the worker (`Worker.id`, its first run).

        A worker counts while it has renewed its profile in the last 30 s. Workers without a profile are not here. Of a
        route it is empty: ask its base.

        Redis:
            One HGETALL and TIME.
        """
        return {worker: orjson.loads(entry)["profile"] for worker, entry in await reply(self.core.profiles())}
