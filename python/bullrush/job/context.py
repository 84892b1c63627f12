"""The job that runs here: set by a worker for the thread or task of the handler."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bullrush.job.job import JobCalls

#: The job whose handler runs in this context; None outside of handlers. In a batch handler it is None, too.
RUNNING: Final[ContextVar[JobCalls | None]] = ContextVar("bullrush_job", default=None)
