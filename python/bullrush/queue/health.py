"""Is a queue being worked?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bullrush.base.handle import Handle
from bullrush.base.operation import operation, sleep
from bullrush.errors import ConnectionLostError
from bullrush.queue.due import DueWork, due_work
from bullrush.values import checks
from bullrush.values.checks import Duration

#: disconnected: Redis cannot be reached, or refuses the login. unauthorized: the user of the URL lacks rights of a
#: worker.
#: refused: Redis gives no jobs to a worker, or takes no outcomes. deaf: Redis answers, but not to this worker's wait,
#: fetch or renewal.
#: stuck: work is due, may start, and nothing was claimed for a while. stopped: the worker does not run.
Problem: TypeAlias = Literal["disconnected", "unauthorized", "refused", "deaf", "stuck", "stopped"]

STUCK_AFTER: Final = 60_000
#: Seconds after which work that seems stuck is looked at again: it may have become due just now.
SECOND_LOOK: Final = 0.25


@dataclass(frozen=True)
class QueueHealth:
    """Whether a queue can be reached and is being worked. Times are in ms.

    Attributes:
        queue: the name of the queue.
        connected: Redis answered, and took the login.
        paused: the queue is paused.
        limited: the rate limit or the global concurrency lets no job start now.
        active: how many jobs run, on all workers.
        oldest_due_age: for how long the oldest job that is due has waited; None if none is due.
        last_claim_age: how long ago a job was started or finished; None if Redis does not know.
        problems: what is wrong; empty if all is well.
    """

    queue: str
    connected: bool
    paused: bool
    limited: bool
    active: int
    oldest_due_age: int | None
    last_claim_age: int | None
    problems: tuple[Problem, ...]

    @property
    def healthy(self) -> bool:
        """True if there is no problem."""
        return not self.problems


class QueueHealthCalls(Handle):
    """The call for the health of a queue."""

    @operation
    async def health(self, *, stuck_after: Duration = STUCK_AFTER) -> QueueHealth:
        """Tell whether Redis can be reached and somebody works the queue.

        Args:
            stuck_after: ms. A queue is stuck if a job has been due for this time, may start, and no job was started or
                finished for this time.

        Redis: two round trips, in constant time; a second look after 250 ms if the queue seems stuck.
        """
        longest = checks.milliseconds("stuck_after", stuck_after)
        try:
            work = await due_work(self.core)
            stuck = work.is_stuck(work.last_start_age, longest)
            if stuck:
                await sleep(SECOND_LOOK)
                again = await due_work(self.core)
                stuck = again.oldest_id == work.oldest_id and again.is_stuck(again.last_start_age, longest)
        except ConnectionLostError:
            unknown = DueWork(False, False, False, 0, None, None, None)
            return _health(self.name, unknown, ("disconnected",), connected=False)
        return _health(self.name, work, ("stuck",) if stuck else (), connected=True)


def _health(queue: str, work: DueWork, problems: tuple[Problem, ...], *, connected: bool) -> QueueHealth:
    return QueueHealth(
        queue=queue,
        connected=connected,
        paused=work.paused,
        limited=work.limited,
        active=work.active,
        oldest_due_age=work.oldest_age,
        last_claim_age=work.last_start_age,
        problems=problems,
    )
