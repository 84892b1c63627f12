"""Finds the queues of Bull on a server, and those that have moved."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from bullrush.errors import LegacyQueueError, RedisServerError
from bullrush.extending import QueueScan
from bullrush.legacy.flavor import LegacyBase
from bullrush.legacy.migrating.signpost import read_signpost
from bullrush.legacy.queue import LegacyQueue
from bullrush.legacy.reading import STATES, count_states

#: How keys end that Bull's queues and moved queues have.
_ENDS: Final = (":id", ":ext:moved")


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


async def find_legacy(url: str, prefix: str, timeout: int | None, known: Collection[str]) -> list[LegacyStatus]:
    """Return the queues of Bull and the queues that have moved. An operation.

    Args:
        url: the URL of Redis.
        prefix: the prefix of their keys.
        timeout: ms that a round trip may take.
        known: queues that are left out, such as those of BullMQ.
    """
    scan = QueueScan(url, prefix, timeout, ends=_ENDS, kind=None)
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
