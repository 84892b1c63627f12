"""Who uses a queue of Bull while a bridge runs, and whether it can be cleaned up."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from bullrush.errors import RedisServerError
from bullrush.extending import reply
from bullrush.legacy.report import LegacyClient, LegacyUse, OnUse

if TYPE_CHECKING:
    from bullrush.extending import CoreQueue

#: How often a bridge looks, seconds.
EVERY: Final = 5.0
#: A queue is quiet when no job has come for so many seconds: a producer that is not seen would have added one.
QUIET: Final = 60.0
_LEFT: Final = {
    "wait": "LLEN",
    "paused": "LLEN",
    "active": "LLEN",
    "delayed": "ZCARD",
    "repeat": "ZCARD",
    "ext:claim": "HLEN",
}


class Watch:
    """Looks at a queue of Bull now and then.

    Args:
        core: the queue of Bull.
        base: its prefix and name.
        on_use: is called at the first look, and when the use has changed.
    """

    def __init__(self, core: CoreQueue, base: str, on_use: OnUse | None) -> None:
        self._core, self._base, self._on_use = core, base, on_use
        self._told: LegacyUse | None = None
        self._last_id: bytes | None = None
        self._quiet_since = self._next = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether the last look was some seconds ago."""
        return time.monotonic() >= self._next

    async def look(self, *, owes: bool) -> LegacyUse:
        """Return who uses the queue now.

        Args:
            owes: the bridge has outcomes to write.
        """
        self._next = time.monotonic() + EVERY
        last_id, paused, *counts = await reply(
            self._core.commands(
                [
                    ["GET", f"{self._base}:id"],
                    ["EXISTS", f"{self._base}:meta-paused"],
                    *([count, f"{self._base}:{name}"] for name, count in _LEFT.items()),
                ]
            )
        )
        if last_id != self._last_id:  # a job was added
            self._last_id, self._quiet_since = last_id, time.monotonic()
        is_quiet = time.monotonic() - self._quiet_since >= QUIET
        use = LegacyUse(await clients_of(self._core), sum(counts), owes, is_quiet, bool(paused))
        if self._on_use is not None and use != self._told:
            self._told = use
            self._on_use(use)
        return use


async def clients_of(core: CoreQueue) -> tuple[LegacyClient, ...] | None:
    """Return the connections of programs with Bull; None if Redis refuses to list them."""
    try:
        found = await reply(core.legacy_clients())
    except RedisServerError:
        return None
    return tuple(LegacyClient(address, role) for address, role in zip(found[::2], found[1::2], strict=True))
