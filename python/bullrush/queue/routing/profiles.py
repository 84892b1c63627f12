"""What the workers of a queue have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from orjson import JSONDecodeError, loads

from bullrush.base.operation import operation, reply
from bullrush.queue.routing.status import QueueRouteStatus

if TYPE_CHECKING:
    from bullrush.routing.profile import Profile

#: After this time in ms without a sign a worker is dead.
_LIVE: Final = 30_000


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
        flat, (seconds, micros) = await reply(self.core.commands([["HGETALL", self.to_key("ext:workers")], ["TIME"]]))
        now = int(seconds) * 1_000 + int(micros) // 1_000
        found = {}
        for worker, entry in zip(flat[::2], flat[1::2], strict=True):
            profile = _live_profile(entry, now)
            if profile is not None:
                found[worker.decode(errors="replace")] = profile
        return found


def _live_profile(entry: bytes, now: int) -> Profile | None:
    """Return the profile in an entry; None if the worker is dead, or another program wrote it."""
    try:
        found: Any = loads(entry)
        profile, written = found["profile"], found["ts"]
        return cast("Profile", profile) if isinstance(profile, dict) and now - written <= _LIVE else None
    except (JSONDecodeError, LookupError, TypeError):
        return None
