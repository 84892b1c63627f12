"""Finds the queues of Bull on a server, and those that have moved."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from bullrush.errors import LegacyQueueError, RedisServerError
from bullrush.extending import QueueScan, reply
from bullrush.legacy.flavor import LegacyBase
from bullrush.legacy.migrating.signpost import read_signpost
from bullrush.legacy.queue import LegacyQueue
from bullrush.legacy.reading import STATES, count_states

if TYPE_CHECKING:
    from bullrush.extending import CoreQueue

#: Characters that mean something in a pattern of Redis.
_SPECIAL: Final = re.compile(r"[\\*?\[\]]")


class LegacyStatus(NamedTuple):
    """What there is of a queue of Bull.

    Attributes:
        name: its name.
        has_moved: it has a signpost.
        counts: the number of its jobs by state.
    """

    name: str
    has_moved: bool
    counts: dict[str, int]


class _LegacyScan(QueueScan):
    """A walk through the keys of a server that finds queues which may be Bull's, and those with a signpost."""

    _ends: ClassVar[tuple[str, ...]] = (":id", ":ext:moved")

    async def _keys(self, server: CoreQueue, cursor: int) -> tuple[int, list[bytes]]:
        pattern = _SPECIAL.sub(lambda found: f"\\{found[0]}", self._start) + "*[ie]d"
        command: list[int | str | bytes] = ["SCAN", cursor, "MATCH", pattern, "COUNT", self._size]
        [[after, keys]] = await reply(server.commands([command], checked=self._checked))
        return int(after), keys


async def find_legacy(url: str, prefix: str, timeout: int | None, known: Collection[str]) -> list[LegacyStatus]:
    """Return the queues of Bull and the queues that have moved. An operation.

    Args:
        url: the URL of Redis.
        prefix: the prefix of their keys.
        timeout: ms that a round trip may take.
        known: queues that are left out, such as those of BullMQ.
    """
    scan = _LegacyScan(url, prefix, timeout)
    found = []
    while not scan.ended:
        for name in sorted(set(await scan.page()).difference(known)):
            status = await _look(LegacyQueue(name, url=url, prefix=prefix, timeout=timeout))
            found += [] if status is None else [status]
    return found


async def _look(queue: LegacyBase) -> LegacyStatus | None:
    """Return what there is of a queue; None if it has nothing of Bull's."""
    try:
        _, shown_by = await queue._find_out()
        has_moved = await read_signpost(queue) is not None
        if not shown_by and not has_moved:
            return None
        return LegacyStatus(queue.name, has_moved, await count_states(queue, STATES))
    except (LegacyQueueError, RedisServerError):
        return None  # it is BullMQ's, or of both, or cannot be read
