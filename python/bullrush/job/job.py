"""A job: its attributes and its calls."""

from __future__ import annotations

from typing import TypeVar

from bullrush.base.operation import Async, Blocking
from bullrush.job.calls.aliases import JobAliases
from bullrush.job.calls.changes import JobChanges
from bullrush.job.calls.moves import JobMoves
from bullrush.job.calls.serialization import JobSerialization
from bullrush.job.calls.states import JobStates
from bullrush.job.calls.wait_until_finished import JobResultWait


class JobCalls(JobChanges, JobMoves, JobStates, JobResultWait, JobSerialization, JobAliases):
    """All calls of a job, written once for `Job` and `AsyncJob`."""

    __slots__ = ()


class Job(Blocking, JobCalls):
    """A job. Its calls block; `bullrush.aio.Job` has the same calls to be awaited.

    The attributes are those of the moment when the job was read; a call of this object updates what it changed.
    """

    __slots__ = ()


class AsyncJob(Async, JobCalls):
    """A job for asyncio: `bullrush.Job` with its calls awaited."""

    __slots__ = ()


JobT = TypeVar("JobT", bound=JobCalls)
