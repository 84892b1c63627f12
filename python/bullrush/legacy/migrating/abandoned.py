"""Which active jobs of Bull have no worker any more."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from bullrush.errors import LegacyQueueError
from bullrush.extending import reply, sleep

if TYPE_CHECKING:
    from bullrush.extending import CoreQueue

#: A job is seen without a lock twice, so many seconds apart: Bull's workers lock it only after they took it, and renew
#: the lock in half of its time. Bull 1 and 2 lock for 5 s, Bull 3 and 4 for 30 s.
WAIT: Final = {"1": 10.0, "2": 10.0, "3": 30.0, "4": 30.0}
#: Between two looks, seconds.
_LOOK: Final = 1.0
#: A lock that lasts so much longer than it did, ms, was renewed.
_RENEWED: Final = 500


class Abandoned:
    """Watches the active jobs of a queue of Bull whose workers are said to be stopped.

    Args:
        core: the queue of Bull.
        source: its prefix and name.
        wait: how long a job has to be without a lock, seconds.
    """

    def __init__(self, core: CoreQueue, source: str, wait: float) -> None:
        self._core, self._source, self._wait = core, source, wait
        self._free_since: dict[str, float] = {}
        self._ends: dict[str, float] = {}
        self._known: set[str] | None = None

    async def check_stopped(self) -> None:
        """Wait until every active job is without a lock. Nothing is moved before.

        Raises:
            LegacyQueueError: a worker still runs: a lock was renewed, or a job was started.
        """
        while await self._look():
            await sleep(min(_LOOK, self._wait))

    async def ids(self) -> list[str]:
        """Wait until every active job was without a lock for long enough; return their ids, the newest first.

        Raises:
            LegacyQueueError: a worker still runs.
        """
        while True:
            await self._look()
            rest = [since + self._wait - time.monotonic() for since in self._free_since.values()]
            if len(self._free_since) == len(self._known or ()) and max(rest, default=0.0) <= 0:
                return list(self._free_since)
            await sleep(max(0.01, min(_LOOK, self._wait, max(rest, default=_LOOK))))

    async def _look(self) -> int:
        """Look at the active jobs; return how many have a lock."""
        ids, claims = await self._read(
            [["LRANGE", f"{self._source}:active", 0, -1], ["HKEYS", f"{self._source}:ext:claim"]]
        )
        # Those that a migrator has claimed are its own.
        active = [id.decode(errors="replace") for id in ids if id not in set(claims)]
        if self._known is not None and not self._known.issuperset(active):
            raise self._refusal(next(id for id in active if id not in self._known), "was started")
        self._known = set(active)
        ttls = await self._read([["PTTL", f"{self._source}:{id}:lock"] for id in active])
        now = time.monotonic()
        free: dict[str, float] = {}
        for id, ttl in zip(active, ttls, strict=True):
            if ttl == -2:
                free[id] = self._free_since.get(id, now)
                continue
            end = now * 1000 + ttl
            if end > self._ends.setdefault(id, end) + _RENEWED or id in self._free_since:
                raise self._refusal(id, "was locked again")
        self._free_since = free
        return len(active) - len(free)

    async def _read(self, commands: Sequence[Sequence[int | str | bytes]]) -> list[Any]:
        return await reply(self._core.commands(commands)) if commands else []

    def _refusal(self, id: str, what: str) -> LegacyQueueError:
        return LegacyQueueError(
            f"job {id} of queue {self._source} {what}, so a worker of Bull still runs: stop it, or leave out "
            "legacy_workers_stopped. Nothing active was moved"
        )
