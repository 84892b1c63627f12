"""Jobs without Redis, for unit tests of handlers."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import Token
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, overload

from bullrush.extending import (
    JSON,
    RUNNING,
    AsyncJob,
    GivenRecord,
    OptionCompiler,
    decode,
    encode,
    encode_progress,
    new_jobs,
    now_ms,
    operation,
)
from bullrush.job import Job, JobOptions

if TYPE_CHECKING:
    from typing_extensions import Self

_NO_REDIS: Final = (
    "make_job() makes a job without Redis, and this call needs one: in this test use the fixture bullrush_url, add the "
    "job to a Queue, and run it with bullrush.testing.work()"
)


class _NoRedis:
    """What a job came from, without a server."""

    prefix = "bull"
    _job_worker = None

    def __init__(self, name: str) -> None:
        self.name = name

    def _report_progress(self, _job: object, _progress: object) -> None:
        """Do nothing: there are no listeners."""

    def emit(self, _event: str, *_arguments: object) -> bool:
        """Return False: there are no listeners."""
        return False

    @property
    def core(self) -> NoReturn:
        """Raise: there is no server."""
        raise RuntimeError(_NO_REDIS)


class _Kept:
    """The calls of most handlers, kept in the object."""

    __slots__ = ()

    logged: list[str]
    _children: bytes
    _token: Token[Any]

    def __enter__(self) -> Self:
        """Make it the job that `bullrush.current_job` returns."""
        self._token = RUNNING.set(self)  # type: ignore[arg-type, misc]
        return self

    def __exit__(self, *_: object) -> None:
        RUNNING.reset(self._token)

    @operation
    async def update_progress(self: Any, progress: JSON, row: str | None = None, *, strict: bool = True) -> None:
        """Set ``progress``, and append a row to ``logged``."""
        self._change(progress=encode_progress(progress, strict=strict))
        if row is not None:
            self.logged.append(str(row))

    @operation
    async def update_data(self: Any, data: JSON) -> None:
        """Set ``data``."""
        self._change(data=encode(data, "data"))
        self._data = data

    @operation
    async def log(self: Any, row: str) -> int:
        """Append a row to ``logged``."""
        self.logged.append(str(row))
        return len(self.logged)

    @operation
    async def get_children_values(self: Any) -> Any:
        """Return the results that `make_job` got, by the key of a made-up child."""
        values = decode(self._children, "children_values", self.id)
        return {f"{self.queue_qualified_name}:child-{n}": value for n, value in enumerate(values, 1)}


class MadeJob(_Kept, Job):
    """A job without Redis, for plain functions; see `make_job`.

    Attributes:
        logged: the rows that the handler logged.
    """

    __slots__ = ("_children", "_token", "logged")


class MadeAsyncJob(_Kept, AsyncJob):
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
    stored_opts = {option: value for option, value in (opts or {}).items() if option != "target"}
    new = new_jobs(now_ms())
    new.add(name, {} if data is None else data, OptionCompiler().compile(stored_opts))
    record = new.record(0)
    fields = {
        "name": name,
        "data": record.data,
        "opts": record.opts,
        **{field: record.get(field) for field in ("timestamp", "delay", "priority")},
        "processedOn": now_ms(),
        "atm": attempts_made,
        "ats": attempts_made + 1,
    }
    job = (MadeAsyncJob if awaited else MadeJob)(GivenRecord(fields, job_id), _NoRedis(queue))
    job.logged = []
    job._children = encode(list(children_values), "children_values")
    return job
