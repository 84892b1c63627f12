"""Running a task at once, in the process that enqueues it; for tests."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bullrush.extending import JSON, RUNNING, AsyncJob, Duration, GivenRecord, JobCalls, decode, encode, maybe_await
from bullrush.tasks.new_task import NewTask
from bullrush.tasks.running.handler import LoopHandler
from bullrush.tasks.task_job import TaskJob

if TYPE_CHECKING:
    from bullrush.extending import JobOwner

R = TypeVar("R")

_numbers: Final = itertools.count(1)


class EagerJob(TaskJob[R]):
    """A job that ran when it was enqueued. Redis has nothing of it: only `result` and the attributes work."""

    __slots__ = ("_value",)

    _value: R

    # The arguments are those of `TaskJob`.
    def result(
        self,
        timeout: Duration | None = None,  # noqa: ARG002
        *,
        queue_events: Any = None,  # noqa: ARG002
        via: Any = None,  # noqa: ARG002
    ) -> R:
        """Return what the function returned."""
        return self._value

    async def aresult(
        self,
        timeout: Duration | None = None,  # noqa: ARG002
        *,
        queue_events: Any = None,  # noqa: ARG002
        via: Any = None,  # noqa: ARG002
    ) -> R:
        """Return what the function returned."""
        return self._value


async def run_now(new: NewTask[Any], handler: Callable[[Any], Any], source: JobOwner) -> EagerJob[Any]:
    """Run a task and return its job. An exception of the task is raised here. It is an operation.

    Arguments and result become JSON and come back, as they would through Redis.
    """
    data, opts = encode(new.data, "data"), encode({}, "opts")
    record = GivenRecord({"name": new.name, "data": data, "opts": opts}, f"eager-{next(_numbers)}")
    job: EagerJob[Any] = EagerJob(record, source)
    given: JobCalls = job
    if isinstance(handler, LoopHandler):
        given = job._as_type(AsyncJob)
    token = RUNNING.set(given)
    try:
        value: JSON = await maybe_await(handler(given))
    finally:
        RUNNING.reset(token)
    job._value = job._decoded(decode(encode(value, "returnvalue"), "returnvalue", job.id))
    return job
