"""What the workers of a queue have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orjson import loads

from bullrush.base.operation import operation, reply
from bullrush.queue.routing.status import QueueRouteStatus

if TYPE_CHECKING:
    from bullrush.routing.profile import Profile


class QueueProfiles(QueueRouteStatus):
    """The call that tells what workers have."""

    @operation
    async def get_profiles(self) -> dict[str, Profile]:
        """Return the profiles of the live workers of this queue, by the id of the worker (`Worker.id`, for its first run).

        A worker counts while it has renewed its profile in the last 30 s. Workers without a profile are not here. Of a
        route it is empty: ask its base.

        Redis:
            One HGETALL and TIME.
        """
        return {worker: loads(entry)["profile"] for worker, entry in await reply(self.core.profiles())}
