"""Running a task at once, in the process that enqueues it; for tests."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final, TypeVar

from bullrush.extending import (
    JSON,
    RUNNING,
    Duration,
    KeptCalls,
    NoRedis,
    decode,
    encode,
    kept_record,
    maybe_await,
    now_ms,
    operation,
)
from bullrush.tasks.new_task import NewTask
from bullrush.tasks.producer import SignatureOf, without_redis
from bullrush.tasks.running.handler import LoopHandler
from bullrush.tasks.task_job import AsyncTaskJob, TaskJob

R = TypeVar("R")

_numbers: Final = itertools.count(1)


class EagerSource(NoRedis):
    """What eager jobs came from."""

    def __init__(self, new: NewTask[Any], signature_of: SignatureOf) -> None:
        """Take the task, and what knows the signatures of tasks."""
        super().__init__(new.queue_name, new.prefix, without_redis("this call"))
        self.signature_of = signature_of


class _Eager(KeptCalls):
    """The calls of a job that runs when it is enqueued, and of which Redis has nothing."""

    __slots__ = ()

    @operation
    async def wait_until_finished(
        self: Any,
        queue_events: Any = None,  # noqa: ARG002
        timeout: Duration | None = None,  # noqa: ARG002
        *,
        via: Any = None,  # noqa: ARG002
    ) -> Any:
        """Return the result as JSON."""
        return self.returnvalue

    @operation
    async def result(
        self: Any,
        timeout: Duration | None = None,  # noqa: ARG002
        *,
        queue_events: Any = None,  # noqa: ARG002
        via: Any = None,  # noqa: ARG002
    ) -> Any:
        """Return what the function returned."""
        return self._decoded(self.returnvalue)

    @operation
    async def refresh(self) -> None:
        """Do nothing: this object is the job."""

    async def _state(self: Any) -> str:
        return "active" if self.finished_on is None else "completed"


class EagerJob(_Eager, TaskJob[R]):
    """A job that ran when it was enqueued.

    Attributes:
        logged: the rows that the task logged.
    """

    __slots__ = ("_children", "logged")

    @property
    def aio(self) -> AsyncEagerJob[R]:
        """The same job with calls that are awaited."""
        return self._as_type(AsyncEagerJob)


class AsyncEagerJob(_Eager, AsyncTaskJob[R]):
    """A job that ran when it was enqueued, for asyncio.

    Attributes:
        logged: the rows that the task logged.
    """

    __slots__ = ("_children", "logged")


async def run_now(new: NewTask[Any], handler: Callable[[Any], Any], signature_of: SignatureOf) -> EagerJob[Any]:
    """Run a task and return its job. An exception of the task is raised here. It is an operation.

    Arguments and result become JSON and come back, as they would through Redis.
    """
    record = kept_record(new.name, new.data, new.opts, f"eager-{next(_numbers)}")
    kind: Any = AsyncEagerJob if isinstance(handler, LoopHandler) else EagerJob
    job: Any = kind(record, EagerSource(new, signature_of))
    job._keep([])
    token = RUNNING.set(job)
    try:
        value: JSON = await maybe_await(handler(job))
    finally:
        RUNNING.reset(token)
    stored = encode(value, "returnvalue")
    job._set_completed(stored, now_ms())
    job._decoded(decode(stored, "returnvalue", job.id))
    done: EagerJob[Any] = job if kind is EagerJob else job._as_type(EagerJob)
    return done
