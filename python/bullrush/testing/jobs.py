"""Jobs without Redis, for unit tests of handlers."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import Token
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from bullrush.extending import JSON, RUNNING, AsyncJob, KeptCalls, NoRedis, kept_record
from bullrush.job import Job, JobOptions

if TYPE_CHECKING:
    from typing_extensions import Self

_NO_REDIS: Final = (
    "make_job() makes a job without Redis, and this call needs one: in this test use the fixture bullrush_url, add the "
    "job to a Queue, and run it with bullrush.testing.work()"
)


class _Made(KeptCalls):
    """A kept job as the job that runs in a block."""

    __slots__ = ()

    _token: Token[Any]

    def __enter__(self) -> Self:
        """Make it the job that `bullrush.current_job` returns."""
        self._token = RUNNING.set(self)  # type: ignore[arg-type, misc]
        return self

    def __exit__(self, *_: object) -> None:
        RUNNING.reset(self._token)


class MadeJob(_Made, Job):
    """A job without Redis, for plain functions; see `make_job`.

    Attributes:
        logged: the rows that the handler logged.
    """

    __slots__ = ("_children", "_token", "logged")


class MadeAsyncJob(_Made, AsyncJob):
    """A job without Redis, for coroutine functions; see `make_job`.

    Attributes:
        logged: the rows that the handler logged.
    """

    __slots__ = ("_children", "_token", "logged")


@overload
def make_job(
    data: JSON = ...,
    *,
    name: str = ...,
    job_id: str = ...,
    queue: str = ...,
    attempts_made: int = ...,
    opts: JobOptions | None = ...,
    children_values: Iterable[JSON] = ...,
    awaited: Literal[False] = ...,
) -> MadeJob: ...


@overload
def make_job(
    data: JSON = ...,
    *,
    name: str = ...,
    job_id: str = ...,
    queue: str = ...,
    attempts_made: int = ...,
    opts: JobOptions | None = ...,
    children_values: Iterable[JSON] = ...,
    awaited: Literal[True],
) -> MadeAsyncJob: ...


def make_job(
    data: JSON = None,
    *,
    name: str = "job",
    job_id: str = "1",
    queue: str = "test",
    attempts_made: int = 0,
    opts: JobOptions | None = None,
    children_values: Iterable[JSON] = (),
    awaited: bool = False,
) -> MadeJob | MadeAsyncJob:
    """Return a job as a handler gets it, without Redis.

    Its attributes are as given. `Job.update_progress`, `Job.update_data` and `Job.log` change the object only; rows of
    the log are in ``job.logged``. Calls that need Redis raise a RuntimeError.

    In a ``with`` block it is what `bullrush.current_job` returns: ``with make_job(): album("Summer")`` calls a task
    that asks for its job.

    Args:
        data: its data; ``{}`` by default.
        name: its name.
        job_id: its id.
        queue: the name of its queue.
        attempts_made: how many attempts have ended; one more has started.
        opts: its options, as for ``Queue.add``.
        children_values: the results of its children, which `Job.get_children_values` returns under keys of its own.
        awaited: True for a coroutine function, which awaits the calls of the job.

    Raises:
        InvalidOptionError: an option is wrong.
        DataError: the data is not JSON.
    """
    record = kept_record(name, {} if data is None else data, opts or {}, job_id, attempts_made=attempts_made)
    job = (MadeAsyncJob if awaited else MadeJob)(record, NoRedis(queue, "bull", _NO_REDIS))
    job._keep(list(children_values))
    return job
