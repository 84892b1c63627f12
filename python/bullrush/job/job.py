"""A job: its attributes and its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from bullrush.base.operation import Async, Blocking
from bullrush.job.calls.aliases import JobAliases
from bullrush.job.calls.changes import JobChanges
from bullrush.job.calls.dependencies import JobDependencies
from bullrush.job.calls.moves import JobMoves
from bullrush.job.calls.serialization import JobSerialization
from bullrush.job.calls.states import JobStates
from bullrush.job.calls.wait_until_finished import JobResultWait

if TYPE_CHECKING:
    # With defaults, which `typing` has since Python 3.13: a plain `Job` has data and a result of any type.
    from typing_extensions import TypeVar

    DataT = TypeVar("DataT", default=Any)
    ResultT = TypeVar("ResultT", default=Any)
else:
    from typing import TypeVar

    DataT, ResultT = TypeVar("DataT"), TypeVar("ResultT")


class JobCalls(JobChanges, JobMoves, JobStates, JobDependencies, JobResultWait, JobSerialization, JobAliases):
    """All calls of a job, written once for `Job` and `AsyncJob`."""

    __slots__ = ()


class Job(Blocking, JobCalls, Generic[DataT, ResultT]):
    """A job. Its calls block; `bullrush.aio.Job` has the same calls to be awaited.

    The attributes are those of the moment when the job was read; a call of this object updates what it changed.

    ``Job[Data, Result]`` tells type checkers the types of ``data`` and ``returnvalue``, for example two TypedDicts.
    Nothing is converted or checked; see `bullrush.Tasks` for that.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def data(self) -> DataT:
            """The data of the job."""

        @property
        def returnvalue(self) -> ResultT:
            """The result of the job."""


class AsyncJob(Async, JobCalls, Generic[DataT, ResultT]):
    """A job for asyncio: `bullrush.Job` with its calls awaited."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def data(self) -> DataT:
            """The data of the job."""

        @property
        def returnvalue(self) -> ResultT:
            """The result of the job."""


JobT = TypeVar("JobT", bound=JobCalls)
