"""What is due in a queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bullrush.base.operation import reply

if TYPE_CHECKING:
    from bullrush._core import CoreQueue

#: Seconds after which work that seems stuck is looked at again: it may have become due just now.
SECOND_LOOK: Final = 0.25
#: Work that is due for so many ms, while nobody claims any, is stuck.
STUCK_AFTER: Final = 60_000


@dataclass(frozen=True)
class DueWork:
    """What waits in a queue, as Redis says; by default nothing.

    Attributes:
        paused: the queue is paused.
        limited: the rate limit or the global concurrency lets no job start now.
        limited_by_workers: perhaps a rate limit lets no job start now: only the workers know it, and one has begun a
            period of it.
        active: how many jobs run, on all workers.
        waiting: how many jobs wait for a worker, also while the queue is paused; without delayed ones.
        oldest_id: the job that has been due the longest; None if none is due.
        oldest_age: for how many ms it has been due; None if nobody knows, since its hash is gone.
        last_start_age: how many ms ago a job started or finished, on any worker; None if Redis does not know.
        slots: the global concurrency: how many jobs may be active over all workers; None is no limit.
        rate: the global rate limit: so many starts per so many ms; None is no limit.
        period_left: for how many ms the current period of a rate limit lasts; None outside one.
        rate_reached: so many jobs have started in it that no other one may.
        abandoned: the job that was taken first has no lock any more: its worker has probably died.
    """

    paused: bool = False
    limited: bool = False
    limited_by_workers: bool = False
    active: int = 0
    waiting: int = 0
    oldest_id: str | None = None
    oldest_age: int | None = None
    last_start_age: int | None = None
    slots: int | None = None
    rate: tuple[int, int] | None = None
    period_left: int | None = None
    rate_reached: bool = False
    abandoned: bool = False

    def is_stuck(self, claimed: int | None, stuck_after: int) -> bool:
        """Tell whether work is due, may start, and nobody claims it; or nobody takes back that of a dead worker.

        Args:
            claimed: how many ms ago a job was claimed.
            stuck_after: after how many ms that is a problem.
        """
        if self.paused:
            return False
        if self.abandoned:
            return claimed is None or claimed >= stuck_after
        if self.limited or self.limited_by_workers or self.oldest_id is None:
            return False
        if self.oldest_age is not None and self.oldest_age < stuck_after:
            return False
        return claimed is None or claimed >= stuck_after

    def is_ignored(self, stuck_after: int) -> bool:
        """Tell whether work is due and may start, and nothing runs: workers that are connected do not take it.

        Args:
            stuck_after: after how many ms without a start that is a problem.
        """
        return not self.active and self.is_stuck(self.last_start_age, stuck_after)

    def is_still_stuck(self, before: DueWork, stuck_after: int) -> bool:
        """Tell, of work that seemed stuck ``before``, whether it does so after `SECOND_LOOK`.

        Args:
            before: the first look.
            stuck_after: after how many ms without a start that is a problem.
        """
        is_same = (self.oldest_id, self.abandoned) == (before.oldest_id, before.abandoned)
        return is_same and self.is_stuck(self.last_start_age, stuck_after)


async def due_work(core: CoreQueue, most: int | None = None) -> DueWork:
    """Ask Redis what is due in a queue, in two round trips; awaited inside an operation.

    Args:
        core: the compiled side of the queue.
        most: the ``max`` of the worker's limiter; by default that of the global rate limit.

    Raises:
        ConnectionLostError: Redis could not be reached in time.
    """
    return DueWork(**await reply(core.due_work(most=most)))
