"""Is a queue being worked?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from bullrush.base.due import SECOND_LOOK, STUCK_AFTER, DueWork, due_work
from bullrush.base.handle import Handle
from bullrush.base.operation import operation, sleep
from bullrush.errors import ConnectionLostError
from bullrush.values import checks
from bullrush.values.checks import Duration

#: Of a worker. disconnected: Redis cannot be reached, or refuses the login. unauthorized: the user of the URL lacks
#: rights of a worker.
#: refused: Redis gives no jobs to a worker, or takes no outcomes. deaf: Redis answers, but not to this worker's wait,
#: fetch or renewal.
#: stuck: work is due, may start, and nothing was claimed for a while. stopped: the worker does not run.
Problem: TypeAlias = Literal["disconnected", "unauthorized", "refused", "deaf", "stuck", "stopped"]

#: Of a queue. crowded: more jobs wait than max_waiting. late: a job has been due for longer than max_oldest.
QueueProblem: TypeAlias = Literal["disconnected", "stuck", "crowded", "late"]


@dataclass(frozen=True)
class QueueHealth:
    """Whether a queue can be reached and is being worked. Times are in ms.

    Attributes:
        queue: the name of the queue.
        connected: Redis answered, and took the login.
        paused: the queue is paused.
        limited: the rate limit or the global concurrency lets no job start now.
        active: how many jobs run, on all workers.
        waiting: how many jobs wait for a worker, also while the queue is paused; without delayed ones.
        oldest_due_age: for how long the oldest job that is due has waited; None if none is due.
        last_claim_age: how long ago a job was started or finished; None if Redis does not know.
        problems: what is wrong; empty if all is well.
    """

    queue: str
    connected: bool
    paused: bool
    limited: bool
    active: int
    waiting: int
    oldest_due_age: int | None
    last_claim_age: int | None
    problems: tuple[QueueProblem, ...]

    @property
    def healthy(self) -> bool:
        """True if there is no problem."""
        return not self.problems


class QueueHealthCalls(Handle):
    """The call for the health of a queue."""

    @operation
    async def health(
        self,
        *,
        stuck_after: Duration = STUCK_AFTER,
        max_waiting: int | None = None,
        max_oldest: Duration | None = None,
    ) -> QueueHealth:
        """Tell whether Redis can be reached and somebody works the queue, and fast enough.

        Args:
            stuck_after: ms. A queue is stuck if a job has been due for this time, may start, and no job was started or
                finished for this time.
            max_waiting: the queue is crowded if more jobs than this wait for a worker; None is no limit.
            max_oldest: ms. The queue is late if a job has been due for longer; None is no limit.

        Raises:
            InvalidOptionError: an argument is not a number, or below 0.

        Redis: two round trips, in constant time; a second look after 250 ms if the queue seems stuck.
        """
        longest = checks.milliseconds("stuck_after", stuck_after)
        most = None if max_waiting is None else checks.at_least(0)("max_waiting", max_waiting)
        oldest = None if max_oldest is None else checks.not_negative_milliseconds("max_oldest", max_oldest)
        try:
            work = await due_work(self.core)
            stuck = work.is_stuck(work.last_start_age, longest)
            if stuck:
                await sleep(SECOND_LOOK)
                stuck = (await due_work(self.core)).is_still_stuck(work, longest)
        except ConnectionLostError:
            return _health(self.name, DueWork(), ["disconnected"], connected=False)
        problems: list[QueueProblem] = ["stuck"] if stuck else []
        if most is not None and work.waiting > most:
            problems.append("crowded")
        if oldest is not None and work.oldest_age is not None and work.oldest_age > oldest:
            problems.append("late")
        return _health(self.name, work, problems, connected=True)


def _health(queue: str, work: DueWork, problems: list[QueueProblem], *, connected: bool) -> QueueHealth:
    return QueueHealth(
        queue=queue,
        connected=connected,
        paused=work.paused,
        limited=work.limited,
        active=work.active,
        waiting=work.waiting,
        oldest_due_age=work.oldest_age,
        last_claim_age=work.last_start_age,
        problems=tuple(problems),
    )
