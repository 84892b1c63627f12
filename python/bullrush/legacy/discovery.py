"""Finds the queues of Bull on a server, and those that have moved."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal, NamedTuple

from bullrush.errors import LegacyQueueError, QueueNameError, RedisServerError
from bullrush.extending import FINISHED, QueueScan
from bullrush.legacy.flavor import LegacyBase, read_users
from bullrush.legacy.queue import LegacyQueue
from bullrush.legacy.reading import STATES, STATES_OF_BOTH, count_states, read_all
from bullrush.legacy.signpost import Signpost, read_moved_at, read_signpost

#: How keys end that Bull's queues and moved queues have.
_ENDS: Final = (":id", ":ext:moved")
#: Keys per round trip.
_PAGE: Final = 1_000
#: What stands in keys that are no counter of ids: those of deduplication.
_NO_QUEUE: Final = ":de:"


class LegacyStatus(NamedTuple):
    """What there is of a queue of Bull.

    Attributes:
        name: its name.
        prefix: its prefix. Bull allows colons in names: what comes before the last one stands here.
        signpost: where its jobs have gone; None if they have not.
        of_bullmq: it has keys of BullMQ's, too.
        paused: whether it is paused.
        counts: the number of its jobs by state.
        claimed: how many jobs a migrator has taken and not yet moved: no worker sees them.
        moved_at: when the jobs have begun to move, in ms since 1970; None if they have not, or nobody knows.
        commands: if they have moved, one that shows the other queue, and one that says what is left here.
    """

    name: str
    prefix: str
    signpost: Signpost | None
    of_bullmq: bool
    paused: bool
    counts: dict[str, int]
    claimed: int
    moved_at: int | None
    commands: tuple[str, ...]

    @property
    def kind(self) -> Literal["bull", "moved", "both"]:
        """Whose it is: ``both`` if BullMQ uses the keys of a queue of Bull, also of one that has moved."""
        if self.of_bullmq:
            return "both"
        return "bull" if self.signpost is None else "moved"

    @property
    def is_listed(self) -> bool:
        """Whether a list of queues names it: one that has moved and has nothing to run is left out."""
        to_run = (count for state, count in self.counts.items() if state not in FINISHED)
        return self.kind != "moved" or bool(self.claimed) or any(to_run)


async def find_legacy(
    url: str,
    prefix: str,
    timeout: int | None,
    known: Collection[str],
    *,
    size: int = _PAGE,
    nested: bool = True,
) -> list[LegacyStatus]:
    """Return the queues of Bull and the queues that have moved. An operation.

    Args:
        url: the URL of Redis.
        prefix: the prefix of their keys.
        timeout: ms that a round trip may take.
        known: queues that are left out, such as those of BullMQ.
        size: how many keys are read per round trip.
        nested: also those whose names have a colon.
    """
    scan = QueueScan(url, prefix, timeout, size=size, ends=_ENDS, kind=None)
    found = []
    while not scan.ended:
        for name in sorted(set(await scan.page()).difference(known)):
            status = await look_at(name, url, prefix, timeout)
            found += [] if status is None else [status]
    # The ids of jobs may have colons, too. Their keys are hashes, and there may be millions of them: Redis leaves them
    # out.
    return [*found, *(await _find_nested(url, prefix, timeout) if nested and scan.saw_nested else ())]


async def _find_nested(url: str, prefix: str, timeout: int | None) -> list[LegacyStatus]:
    """Return the queues whose names have a colon."""
    scan = QueueScan(url, prefix, timeout, ends=_ENDS[:1], kind="string", nested=True)
    found = []
    while not scan.ended:
        for name in sorted(await scan.page()):
            if _NO_QUEUE not in f":{name}:":
                first, _, last = f"{prefix}:{name}".rpartition(":")
                try:
                    status = await look_at(last, url, first, timeout)
                except QueueNameError:  # such as an empty one
                    continue
                found += [] if status is None or status.of_bullmq else [status]
    return found


async def look_at(name: str, url: str, prefix: str, timeout: int | None) -> LegacyStatus | None:
    """Return what there is of a queue; None if nothing shows Bull. An operation."""
    queue: LegacyBase = LegacyQueue(name, url=url, prefix=prefix, timeout=timeout)
    try:
        users, signpost = await read_users(queue), await read_signpost(queue)
        if not users.flavor and signpost is None:
            return None
        asked = [["EXISTS", queue.to_key("meta-paused")], ["HLEN", queue.to_key("ext:claim")]]
        paused, claimed = await read_all(queue, asked)
        counts = await count_states(queue, STATES_OF_BOTH if users.of_bullmq else STATES)
        moved_at = await read_moved_at(queue)
    except (LegacyQueueError, RedisServerError):
        return None  # a key has a type of neither, or it cannot be read
    commands: tuple[str, ...] = ()
    if signpost is not None:
        commands = signpost.looking(queue._shown_url, "bullrush", "info"), f"{signpost.command(queue)} --verify"
    return LegacyStatus(
        name, prefix, signpost, users.of_bullmq, bool(paused), counts, claimed, moved_at=moved_at, commands=commands
    )
