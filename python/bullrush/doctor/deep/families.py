"""BR205 and BR206: parents without their children, and children without their parents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bullrush.doctor.deep.places import UNFINISHED, Places
from bullrush.doctor.finding import Finding, counted
from bullrush.doctor.reading import QueueUnderTest, Server, pages_of_set, texts
from bullrush.errors import RedisServerError

#: So many children of a parent are named as keys that were asked for.
_PART: Final = 10_000


async def orphans(tested: QueueUnderTest, places: Places) -> list[Finding]:
    """BR205 and BR206. What seems wrong is looked at again at the end."""
    waiting = [id for id, place in places.of.items() if place == "waiting-children"]
    left = await _left_parents(tested, waiting)
    unfinished = [id for id, place in places.of.items() if place in UNFINISHED]
    alone = await _left_children(tested, unfinished)
    left = await _left_parents(tested, left)
    alone = await _left_children(tested, alone)
    found = []
    if left:
        found.append(Finding("BR205", counted(len(left), "parent"), tested.name, texts(left)))
    if alone:
        found.append(Finding("BR206", counted(len(alone), "job"), tested.name, texts(alone)))
    return found


async def _left_parents(tested: QueueUnderTest, ids: Iterable[bytes]) -> list[bytes]:
    """Return those that wait for a child that does not exist."""
    left = []
    for id in ids:
        try:
            if await _waits_in_vain(tested.server, tested.key("").encode() + id + b":dependencies"):
                left.append(id)
        except RedisServerError as error:
            if error.code != "WRONGTYPE":  # else BR104 names the key
                raise
    return left


async def _waits_in_vain(server: Server, dependencies: bytes) -> bool:
    async for page in pages_of_set(server, dependencies, "SSCAN"):
        exist = await server.ask_all([["EXISTS", child] for child in page])
        missing = [child for child, exists in zip(page, exist, strict=True) if not exists]
        # A child that has just ended is no longer one for which it waits.
        if any(await server.ask_all([["SISMEMBER", dependencies, child] for child in missing])):
            return True
    return False


async def _left_children(tested: QueueUnderTest, ids: list[bytes]) -> list[bytes]:
    """Return the jobs whose parent does not exist, of those that have not ended."""
    start = tested.key("").encode()
    alone: list[bytes] = []
    for first in range(0, len(ids), _PART):
        part = ids[first : first + _PART]
        replies = await tested.server.ask_fields([["HMGET", start + id, "parentKey", "finishedOn"] for id in part])
        children = [(id, parent) for id, (parent, ended) in zip(part, replies, strict=True) if parent and ended is None]
        parents = list(dict.fromkeys(parent for _, parent in children))
        exist = await tested.server.ask_all([["EXISTS", parent] for parent in parents])
        gone = {parent for parent, exists in zip(parents, exist, strict=True) if not exists}
        alone += [id for id, parent in children if parent in gone]
    return alone
