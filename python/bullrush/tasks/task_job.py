"""The job of a task: it knows the type of its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, cast

from bullrush.extending import JSON, AsyncJob, Duration, JobResultWait, operation
from bullrush.job import Job

if TYPE_CHECKING:
    from bullrush.extending import QueueEventsCalls

R = TypeVar("R")


class ResultReader(Protocol):
    """Knows the types of results by the names of tasks."""

    def decode_result(self, name: str, value: JSON) -> object:
        """Return the result of a task as its function returned it."""


class TaskResult(JobResultWait, Generic[R]):
    """The call that waits for the result of a task."""

    __slots__ = ()

    @operation
    async def result(
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
        return self._decoded(await JobResultWait.wait_until_finished.steps(self, queue_events, timeout, via=via))

    def _decoded(self, value: JSON) -> R:
        return cast("R", cast("ResultReader", self._source).decode_result(self.name, value))


class TaskJob(TaskResult[R], Job[Any, R], Generic[R]):
    """A job of a task: a `bullrush.Job` with a typed result. `AsyncTaskJob` has the same calls to be awaited."""

    __slots__ = ()

    @property
    def aio(self) -> AsyncTaskJob[R]:
        """The same job with calls that are awaited, for a job that a blocking call enqueued."""
        return self._as_type(AsyncTaskJob)


class AsyncTaskJob(TaskResult[R], AsyncJob[Any, R], Generic[R]):
    """A job of a task for asyncio: a `bullrush.aio.Job` with a typed result."""

    __slots__ = ()
