"""The job of a task: it knows the type of its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, cast

from bullrush.extending import JSON, AsyncJob, Duration, JobCalls, JobResultWait, decode, encode, operation
from bullrush.job import Job

if TYPE_CHECKING:
    from bullrush.extending import QueueEventsCalls
    from bullrush.tasks.signature import Signature

R = TypeVar("R")


class KnowsTasks(Protocol):
    """What the jobs of tasks come from: it knows the signatures by the names of tasks."""

    def signature_of(self, name: str) -> Signature | None:
        """Return the signature of a task, None if there is no such task."""


class TaskCalls(JobResultWait, Generic[R]):
    """The calls of a job that knows its task: it waits for the typed result, and takes only data that fits."""

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
            JobFailedError: the job failed for good; the message is its reason, ``error_type`` the class of its error.
            JobNotFoundError: the job is gone; ``remove_on_complete`` removes results, too.
            TimeoutError: the job did not finish in time. It is not stopped.
            DataError: what is stored is not a result of this task.
        """
        return self._decoded(await JobResultWait.wait_until_finished.steps(self, queue_events, timeout, via=via))

    @operation
    async def update_data(self, data: JSON) -> None:
        """Replace the job's data.

        Args:
            data: the arguments of the task as JSON, as they are in ``job.data``. Names that begin with an underscore
                are for middleware, and may be added.

        Raises:
            DataError: it is not JSON, or does not fit the signature of the task; nothing was written.
            JobNotFoundError: the job is gone.
        """
        if (signature := self._signature) is not None:
            signature.check_data(decode(encode(data, "data"), "data", self.id))
        await JobCalls.update_data.steps(self, data)

    @property
    def _signature(self) -> Signature | None:
        return cast("KnowsTasks", self._source).signature_of(self.name)

    def _decoded(self, value: JSON) -> R:
        signature = self._signature
        return cast("R", value if signature is None else signature.decode_result(value))


class TaskJob(TaskCalls[R], Job[Any, R], Generic[R]):
    """A job of a task: a `bullrush.Job` with a typed result. `AsyncTaskJob` has the same calls to be awaited."""

    __slots__ = ()

    @property
    def aio(self) -> AsyncTaskJob[R]:
        """The same job with calls that are awaited, for a job that a blocking call enqueued."""
        return self._as_type(AsyncTaskJob)


class AsyncTaskJob(TaskCalls[R], AsyncJob[Any, R], Generic[R]):
    """A job of a task for asyncio: a `bullrush.aio.Job` with a typed result."""

    __slots__ = ()
