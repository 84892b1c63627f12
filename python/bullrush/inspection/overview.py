"""Many queues in a line each: how many jobs are in which state, and what is due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bullrush.base.due import DueWork
from bullrush.base.operation import reply
from bullrush.errors import RedisServerError

if TYPE_CHECKING:
    from bullrush._core.reads import Overview as Found
    from bullrush.base.handle import Handle


@dataclass(frozen=True)
class Overview:
    """One queue of many.

    Attributes:
        active: how many jobs run, on all workers.
        delayed: how many jobs wait for their time.
        waiting_children: how many parents wait for their children.
        completed: how many jobs that completed are kept.
        failed: how many jobs that failed are kept.
        failed_lately: how many of those failed lately.
        work: what is due.
        error: what Redis said if the queue cannot be read; then nothing else is known.
    """

    active: int = 0
    delayed: int = 0
    waiting_children: int = 0
    completed: int = 0
    failed: int = 0
    failed_lately: int = 0
    work: DueWork = field(default_factory=DueWork)
    error: RedisServerError | None = None


async def overviews(handles: Sequence[Handle], lately: int) -> list[Overview]:
    """Look at queues of one server and prefix; awaited inside an operation.

    Args:
        handles: the queues.
        lately: jobs that failed later have failed lately (ms since the epoch).

    Raises:
        ConnectionLostError: Redis could not be reached in time.

    Redis: one round trip for all queues together, and two more for those where jobs wait or run; on a cluster, unless
    the prefix has a hash tag, these for each queue.
    """
    if not handles:
        return []
    found = await reply(handles[0].core.overviews([handle.name for handle in handles], lately))
    elsewhere = [
        (at, handles[at].core.overviews([handles[at].name], lately)) for at, line in enumerate(found) if line is None
    ]
    for at, asked in elsewhere:
        (found[at],) = await reply(asked)
    return [_overview(line) for line in found]


def _overview(line: tuple[Found | None, tuple[str, str] | None] | None) -> Overview:
    fields, error = line or (None, ("MOVED", "the queue moves to another server of the cluster"))
    if fields is None:
        return Overview(error=RedisServerError(*(error or ("ERR", ""))))
    work = DueWork(**fields["work"])
    return Overview(
        fields["active"],
        fields["delayed"],
        fields["waiting_children"],
        fields["completed"],
        fields["failed"],
        fields["failed_lately"],
        work,
    )
