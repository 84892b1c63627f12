"""The job of a task: it knows the type of its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, cast

from bullrush.extending import JSON, Duration, JobResultWait, run_async
from bullrush.job import Job

if TYPE_CHECKING:
    from bullrush.extending import QueueEventsCalls

R = TypeVar("R")


class ResultReader(Protocol):
    """Knows the types of results by the names of tasks."""

    def decode_result(self, name: str, value: JSON) -> object:
        """Return the result of a task as its function returned it."""


class TaskJob(Job[Any, R], Generic[R]):
    """A job of a task: a `bullrush.Job` with a typed result."""

    __slots__ = ()

    def result(
        self,
        timeout: Duration | None = None,
        *,
        queue_events: QueueEventsCalls | None = None,
        via: Literal["notify", "events", "poll"] | None = None,
    ) -> R:
        """Wait until the job is completed and return what the function returned.

        Args:
            timeout: the longest wait in ms; None waits without limit.
            queue_events: sees the end at once; see `Job.wait_until_finished`.
            via: what tells of the end; see `Job.wait_until_finished`.

        Raises:
            JobFailedError: the job failed for good; the message is its reason.
            JobNotFoundError: the job is gone; ``remove_on_complete`` removes results, too.
            TimeoutError: the job did not finish in time. It is not stopped.
            DataError: what is stored is not a result of this task.
        """
        return self._decoded(self.wait_until_finished(queue_events, timeout, via=via))

    async def aresult(
        self,
        timeout: Duration | None = None,
        *,
        queue_events: QueueEventsCalls | None = None,
        via: Literal["notify", "events", "poll"] | None = None,
    ) -> R:
        """Await the result; see `result`.

        Args:
            timeout: see `result`.
            queue_events: see `result`.
            via: see `result`.
        """
        waiting = JobResultWait.wait_until_finished.steps(self, queue_events, timeout, via=via)
        return self._decoded(await run_async(waiting))

    def _decoded(self, value: JSON) -> R:
        return cast("R", cast("ResultReader", self._source).decode_result(self.name, value))
