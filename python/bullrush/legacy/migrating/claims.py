"""Jobs that an interrupted move has claimed: how many there are, and which queue knows whether it has got them."""

from __future__ import annotations

from typing import Any

from bullrush.errors import LegacyQueueError
from bullrush.extending import QueueCalls, reply
from bullrush.legacy.flavor import LegacyBase
from bullrush.legacy.migrating.movers import source_at
from bullrush.legacy.migrating.servers import core_of
from bullrush.legacy.migrating.signpost import leads_to
from bullrush.legacy.reading import read_all
from bullrush.legacy.signpost import read_signpost


async def count_claimed(queue: LegacyBase) -> int:
    """Return how many jobs of a queue of Bull a move or a bridge has claimed and not finished."""
    [count] = await read_all(queue, [["HLEN", queue.to_key("ext:claim")]])
    return int(count)


async def check_forgettable(queue: LegacyBase) -> None:
    """Check that no job is claimed by the move that has left the signpost.

    Raises:
        LegacyQueueError: jobs are. Only the signpost says which queue knows about them.
    """
    count, to = await count_claimed(queue), await read_signpost(queue)
    if count and to is not None:
        raise LegacyQueueError(
            f"{_claimed(queue, count)} claimed by a move to {to}, and {'runs' if count == 1 else 'run'} nowhere: "
            f"finish it by `{to.command(queue)}`, or give them back, by LegacyQueue.give_back"
        )


async def check_claims(queue: LegacyBase, target: QueueCalls[Any]) -> int:
    """Check that claimed jobs are on their way to this queue: no other one can tell which of them have arrived.

    Returns:
        How many there are.

    Raises:
        LegacyQueueError: they go to another queue, or came from here under another address of the server.
    """
    count, to = await count_claimed(queue), await read_signpost(queue)
    if not count or to is None:  # without a signpost they may be those of a call of `remove` that was interrupted
        await check_signpost(queue, target)
        return count
    if not await leads_to(queue, target):
        raise LegacyQueueError(
            f"{_claimed(queue, count)} claimed by a move to {to}, which knows whether it has got them: go on with "
            f"`{to.command(queue)}`, or give them back"
        )
    source = source_at(queue, target)
    [known] = await reply(core_of(target).commands([["HKEYS", target.to_key("ext:migration")]]))
    sources = [field.decode(errors="replace") for field in known]
    if source not in sources:
        ours = [one for one in sources if one.endswith(f" {queue.qualified_name}")]
        more = f", but of one from {', '.join(ours)}: write the address of Bull's server so" if ours else ""
        raise LegacyQueueError(
            f"{_claimed(queue, count)} claimed, and {target.qualified_name} knows of no move from {source}{more}"
        )
    return count


async def check_signpost(queue: LegacyBase, target: QueueCalls[Any]) -> None:
    """Check that the jobs of the queue have gone to this one, or to none yet.

    Raises:
        LegacyQueueError: they have gone to another one.
    """
    to = await read_signpost(queue)
    if to is not None and not await leads_to(queue, target):
        raise LegacyQueueError(
            f"the jobs of queue {queue.qualified_name} have moved to {to}: use that one "
            f"(`{to.command(queue)}`), or call LegacyQueue.forget() first, or --forget"
        )


def _claimed(queue: LegacyBase, count: int) -> str:
    jobs, are = ("job", "is") if count == 1 else ("jobs", "are")
    return f"{count:,} {jobs} of queue {queue.qualified_name} {are}"
