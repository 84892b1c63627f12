"""What a job needs from the object that it came from: a queue, a worker, a job scheduler or a flow producer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sized
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from bullrush.retries import Classifier

if TYPE_CHECKING:
    from bullrush._core import CoreQueue, Pending
    from bullrush.job.record import Record

#: What was changed through a job object: the changed fields as Redis stores them, and whether `Job.discard` was called.
Changes: TypeAlias = tuple[Mapping[str, bytes | None], bool]

#: Gets the number of ended attempts, the backoff type, the error and the job. Returns the delay in ms or as a
#: timedelta; 0 or None retries at once, -1 fails the job. It may be a coroutine function.
BackoffStrategy: TypeAlias = Callable[
    [int, str, BaseException, Any], float | timedelta | Awaitable[float | timedelta | None] | None
]


class JobOwner(Protocol):
    """The object that a job came from. The calls of the job go through it."""

    @property
    def name(self) -> str:
        """The queue's name."""

    @property
    def prefix(self) -> str:
        """The prefix of the queue's keys."""

    @property
    def core(self) -> CoreQueue:
        """The compiled side of the queue."""

    @property
    def _job_worker(self) -> JobWorker | None:
        """The worker that runs the job; None for a job that a program has added or read."""

    def _report_progress(self, job: Any, progress: Any) -> None:
        """Call the listeners of ``progress``."""

    def emit(self, event: str, *arguments: object) -> bool:
        """Call the listeners of an event in this process."""


class JobWorker(JobOwner, Protocol):
    """A worker, as its jobs and what runs their handlers need it."""

    @property
    def id(self) -> str:
        """Its id, with which the lock tokens of its jobs begin."""

    @property
    def _backoff_strategy(self) -> BackoffStrategy | None:
        """The custom backoff strategy, if there is one."""

    def _classifiers(self, name: str) -> Mapping[str, Classifier]:
        """Return what is asked about the exceptions of jobs of this name, by the options that a program wrote."""

    def _record_start(self, record: Record) -> Pending[None] | None:
        """Write the start of a prefetched job to Redis; None if that is not needed."""

    def _listeners_of(self, event: str) -> Sized:
        """Return a collection that is not empty while an event has listeners."""

    def _job_started(self, job: Any) -> None:
        """Emit ``active`` for a job whose handler starts now."""

    def _shown_job(self, job_id: str, queue: str | None) -> str:
        """Name a job in a text."""
