"""A paused queue of Bull: jobs of it must not begin to run because they have moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from bullrush.extending import reply
from bullrush.legacy.migrating.movers import source_at
from bullrush.legacy.migrating.servers import core_of
from bullrush.legacy.reading import read_all
from bullrush.legacy.report import Remark

if TYPE_CHECKING:
    from bullrush.extending import QueueCalls
    from bullrush.legacy.flavor import LegacyBase

#: ``pauses``: a move pauses the other queue. ``resumed``: a move has done so, and somebody has resumed it since, which
#: is not undone. "": the queue of Bull runs, or the other one is paused already.
Pausing: TypeAlias = Literal["", "pauses", "resumed"]

_KEY: Final = "meta-paused"
_PAUSES: Final = "the queue of Bull is paused: the new queue will be paused before the first job comes"


def pausing_field(queue: LegacyBase, target: QueueCalls[Any]) -> str:
    """Return the field of ``ext:migration`` that stands while both queues were paused, until that of Bull runs."""
    return f"{source_at(queue, target)} paused"


async def look_at_pause(queue: LegacyBase, target: QueueCalls[Any]) -> Pausing:
    """Return what a move does about the pause of the queue of Bull."""
    return await _pausing(queue, target) if await is_paused(queue) else ""


async def pause_as_bull(queue: LegacyBase, target: QueueCalls[Any]) -> Pausing:
    """Pause the other queue if that of Bull is paused, and remember it; return what was to do.

    To be called before the first job comes, and may be repeated after a crash.
    """
    if not await is_paused(queue):
        await forget_pause(queue, target)
        return ""
    pausing = await _pausing(queue, target)
    if pausing == "pauses":
        await reply(core_of(target).pause())
    key, field = target.to_key("ext:migration"), pausing_field(queue, target)
    await reply(core_of(target).commands([["HSET", key, field, 1]]))
    return pausing


async def forget_pause(queue: LegacyBase, target: QueueCalls[Any]) -> None:
    """Forget that the other queue was paused: the queue of Bull runs, and its next pause is a new one."""
    field = pausing_field(queue, target)
    await reply(core_of(target).commands([["HDEL", target.to_key("ext:migration"), field]]))


async def is_paused(queue: LegacyBase) -> bool:
    """Return whether the queue of Bull is paused."""
    return (await read_all(queue, [["EXISTS", queue.to_key(_KEY)]])) == [1]


async def _pausing(queue: LegacyBase, target: QueueCalls[Any]) -> Pausing:
    if await reply(core_of(target).is_paused()):
        return ""
    # A pause of a move of which nothing is written here, such as of a target that was restored from a backup, is not
    # known: the target is paused once more. That is the safe side, since no job runs that must not, and it happens
    # once.
    field = pausing_field(queue, target)
    [known] = await reply(core_of(target).commands([["HEXISTS", target.to_key("ext:migration"), field]]))
    return "resumed" if known else "pauses"


def remark_on(pausing: Pausing, to_run: int, running: int = 0, *, dry_run: bool = False) -> list[Remark]:
    """Return what the user has to know about it.

    Args:
        pausing: what a move does.
        to_run: how many jobs of Bull could run if they were not paused.
        running: how many jobs wait in the other queue.
        dry_run: the move is a rehearsal.
    """
    if pausing == "resumed" and to_run:
        jobs = "1 job" if to_run == 1 else f"{to_run:,} jobs"
        text = f"the queue of Bull is paused, the new one is not: {jobs} will run at once"
        return [Remark(_KEY, "", text)]
    if pausing == "pauses" and dry_run:
        jobs = "the job that waits" if running == 1 else f"the {running:,} jobs that wait"
        return [Remark(_KEY, "", _PAUSES + (f", so {jobs} there will stop, too" if running else ""))]
    return []
