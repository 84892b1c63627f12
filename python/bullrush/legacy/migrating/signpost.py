"""What stays in a queue of Bull that has moved: a signpost, which bullrush's other classes obey."""

from __future__ import annotations

from typing import Any

from bullrush.extending import QueueCalls, now_ms
from bullrush.legacy.flavor import LegacyBase
from bullrush.legacy.migrating.options import place
from bullrush.legacy.reading import read_all
from bullrush.legacy.signpost import MOVED_AT, SIGNPOST, Signpost, read_moved_at, read_signpost


def _signpost(queue: LegacyBase, target: QueueCalls[Any]) -> Signpost:
    there = place(target._url)
    return Signpost(target.prefix, target.name, "" if there == place(queue._url) else "/".join(there))


async def leave_signpost(queue: LegacyBase, target: QueueCalls[Any]) -> None:
    """Write where the jobs go. Who makes a `Queue` or `Worker` of the old name is sent there from now on."""
    fields = [part for field in _signpost(queue, target)._asdict().items() for part in field]
    moved_at = await read_moved_at(queue) or now_ms()
    await read_all(queue, [["HSET", queue.to_key(SIGNPOST), *fields, MOVED_AT, moved_at]])


async def leads_to(queue: LegacyBase, target: QueueCalls[Any]) -> bool:
    """Return whether the jobs of the queue have gone to this one, or have begun to."""
    return await read_signpost(queue) == _signpost(queue, target)


async def has_signpost(queue: LegacyBase) -> bool:
    """Return whether the queue has moved, or begun to."""
    return (await read_all(queue, [["EXISTS", queue.to_key(SIGNPOST)]])) == [1]


async def remove_signpost(queue: LegacyBase) -> bool:
    """Remove the signpost; return whether there was one."""
    return (await read_all(queue, [["UNLINK", queue.to_key(SIGNPOST)]])) == [1]
