"""The job that runs here: set by a worker for the thread or task of the handler."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bullrush.job.job import Job, JobCalls

#: The job whose handler runs in this context; None outside of handlers. In a batch handler it is None, too.
RUNNING: Final[ContextVar[JobCalls | None]] = ContextVar("bullrush_job", default=None)


def current_job() -> Job:
    """Return the job that runs here: in a handler, and in what it calls, such as dependencies and log filters.

    In an ``async def`` it is a `bullrush.aio.Job`: use `bullrush.aio.current_job` there, which has its type.

    Raises:
        LookupError: no job runs here. In a batch handler, too.
    """
    job = RUNNING.get()
    if job is None:
        raise LookupError("no job runs here: current_job() is for handlers and what they call, and not for batches")
    return job  # type: ignore[return-value]
