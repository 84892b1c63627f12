"""What stays in a queue of Bull that has moved: a signpost, which bullrush's other classes obey."""

from __future__ import annotations

from typing import Any, Final

from bullrush.extending import QueueCalls
from bullrush.legacy.flavor import LegacyBase
from bullrush.legacy.migrating.options import place
from bullrush.legacy.reading import read_all

_KEY: Final = "ext:moved"


async def leave_signpost(queue: LegacyBase, target: QueueCalls[Any]) -> None:
    """Write where the jobs go. Who makes a `Queue` or `Worker` of the old name is sent there from now on."""
    there = place(target._url)
    where = "" if there == place(queue._url) else "/".join(there)
    fields = ["prefix", target.prefix, "name", target.name, "place", where]
    await read_all(queue, [["HSET", queue.to_key(_KEY), *fields]])


async def has_signpost(queue: LegacyBase) -> bool:
    """Return whether the queue has moved, or begun to."""
    return (await read_all(queue, [["EXISTS", queue.to_key(_KEY)]])) == [1]


async def remove_signpost(queue: LegacyBase) -> bool:
    """Remove the signpost; return whether there was one."""
    return (await read_all(queue, [["UNLINK", queue.to_key(_KEY)]])) == [1]
