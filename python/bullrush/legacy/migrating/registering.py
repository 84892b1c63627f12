"""How a move or a bridge begins: the other queue is asked whether it takes the jobs, and with which ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bullrush.errors import LegacyQueueError
from bullrush.extending import reply
from bullrush.legacy.migrating.servers import core_of
from bullrush.legacy.migrating.signpost import leads_to

if TYPE_CHECKING:
    from bullrush.extending import QueueCalls
    from bullrush.legacy.flavor import LegacyBase
    from bullrush.legacy.migrating.moved import Ids


async def register(
    queue: LegacyBase, target: QueueCalls[Any], source: str, last_id: int | str | bytes, *, merge: bool
) -> Ids:
    """Register a queue of Bull at the other queue; return whether jobs keep their ids.

    Args:
        queue: the queue of Bull.
        target: the other queue.
        source: how that one calls it.
        last_id: its counter, "" without one.
        merge: the other queue may have jobs. It may also if the signpost leads there.

    Raises:
        LegacyQueueError: it has jobs. Nothing was written.
    """
    may_have_jobs = merge or await leads_to(queue, target)
    call: list[int | str | bytes] = [source, int(may_have_jobs), last_id]
    [answer] = await reply(core_of(target).legacy_calls("open_migration", [call]))
    if answer == -1:
        raise LegacyQueueError(
            f"queue {target.qualified_name} has jobs: take an empty one, or say merge=True (ids become l-<id> then). "
            "Nothing was moved"
        )
    return "kept" if answer == b"kept" else "l-"
