"""Where each job of a queue is."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from bullrush.doctor.concurrently import together
from bullrush.doctor.reading import QueueUnderTest, pages_of_list, pages_of_set

#: In the order in which most jobs go through them, so that a job that moves meanwhile is seen twice and not missed.
SETS_BEFORE: Final = ("waiting-children", "delayed", "prioritized")
LISTS: Final = ("wait", "paused", "active")
SETS_AFTER: Final = ("failed", "completed")
SETS: Final = (*SETS_BEFORE, *SETS_AFTER)
#: Places of jobs that have still to run.
UNFINISHED: Final = (*SETS_BEFORE, *LISTS)
#: Ids that BullMQ before version 5 put into lists to wake workers.
_OLD_MARKER: Final = b"0:"


class Places:
    """The ids of a queue and where they are.

    Attributes:
        of: the place of each id, the first one that was seen.
        twice: ids that were seen in two places; perhaps they moved meanwhile.
    """

    def __init__(self) -> None:
        """Begin without ids."""
        self.of: dict[bytes, str] = {}
        self.twice: set[bytes] = set()

    def add(self, ids: list[bytes], place: str) -> None:
        """Note what was read from a list or a set."""
        for id in ids:
            # A page of a set may have an id that another one had, too.
            if self.of.setdefault(id, place) != place:
                self.twice.add(id)


async def read_places(tested: QueueUnderTest) -> Places:
    """Read all ids of a queue.

    Redis: LRANGE and ZSCAN, 500 ids per call.
    """
    places = Places()

    async def read_set(name: str) -> None:
        async for page in pages_of_set(tested.server, tested.key(name), "ZSCAN"):
            places.add(page, name)

    await together([read_set(name) for name in SETS_BEFORE])
    for name in LISTS:
        async for page in pages_of_list(tested.server, tested.key(name)):
            places.add([id for id in page if not id.startswith(_OLD_MARKER)], name)
    await together([read_set(name) for name in SETS_AFTER])
    return places


async def places_of(tested: QueueUnderTest, ids: Collection[bytes]) -> dict[bytes, list[str]]:
    """Return all places of some ids as they are now; the lists are read again, sets are asked."""
    found: dict[bytes, list[str]] = {id: [] for id in ids}
    if not found:
        return found
    for name in LISTS:
        in_list: set[bytes] = set()
        async for page in pages_of_list(tested.server, tested.key(name)):
            in_list.update(id for id in page if id in found)
        for id in in_list:
            found[id].append(name)
    asked = list(found)
    for name in SETS:
        key = tested.key(name)
        scores = await tested.server.ask_all([["ZSCORE", key, id] for id in asked])
        for id, score in zip(asked, scores, strict=True):
            if score is not None:
                found[id].append(name)
    return found
