"""Jobs that no Redis has: what their handlers report stays in the object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from bullrush._core import now_ms
from bullrush.base.operation import operation
from bullrush.job.calls.changes import encode_progress
from bullrush.job.new_jobs import new_jobs
from bullrush.job.option_compiler import OptionCompiler
from bullrush.job.record import GivenRecord
from bullrush.values.encoding import JSON, decode, encode

if TYPE_CHECKING:
    from bullrush.job.options import JobOptions


class NoRedis:
    """What a kept job came from: a queue without a server.

    Attributes:
        name: the name of the queue.
        prefix: the prefix of its keys.
    """

    _job_worker = None

    name: str
    prefix: str

    def __init__(self, name: str, prefix: str, advice: str) -> None:
        """Take the queue, and the text of the error of calls that need a server."""
        self.name, self.prefix, self._advice = name, prefix, advice

    def _report_progress(self, _job: object, _progress: object) -> None:
        """Do nothing: there are no listeners."""

    def emit(self, _event: str, *_arguments: object) -> bool:
        """Return False: there are no listeners."""
        return False

    @property
    def core(self) -> NoReturn:
        """Raise: there is no server."""
        raise RuntimeError(self._advice)


class KeptCalls:
    """The calls of most handlers, kept in the object. Its classes have the slots ``_children`` and ``logged``.

    Attributes:
        logged: the rows that the handler logged.
    """

    __slots__ = ()

    logged: list[str]
    _children: bytes

    def _keep(self: Any, children_values: list[JSON]) -> None:
        """Begin with an empty log, and with the results of the children."""
        self.logged = []
        self._children = encode(children_values, "children_values")

    def _copy_changes(self: Any, other: Any) -> None:
        super()._copy_changes(other)  # type: ignore[misc]
        self.logged, self._children = other.logged, other._children

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
    async def clear_logs(self: Any, keep_logs: int | None = None) -> None:
        """Remove the rows of ``logged`` but the last ``keep_logs``."""
        del self.logged[: len(self.logged) - (keep_logs or 0)]

    @operation
    async def get_children_values(self: Any) -> Any:
        """Return the results of the children, each by the key of a made-up child."""
        values = decode(self._children, "children_values", self.id)
        return {f"{self.queue_qualified_name}:child-{n}": value for n, value in enumerate(values, 1)}


def kept_record(name: str, data: JSON, opts: JobOptions, job_id: str, *, attempts_made: int = 0) -> GivenRecord:
    """Return the raw fields of a job whose handler starts now, as Redis would have them.

    Args:
        name: its name.
        data: its data.
        opts: its options.
        job_id: its id.
        attempts_made: how many attempts have ended.

    Raises:
        InvalidOptionError: an option is wrong.
        DataError: the data is not JSON.
    """
    stored: Any = {option: value for option, value in opts.items() if option != "target"}
    now = now_ms()
    new = new_jobs(now)
    new.add(name, data, OptionCompiler().compile(stored))
    record = new.record(0)
    fields = {
        "name": name,
        "data": record.data,
        "opts": record.opts,
        **{field: record.get(field) for field in ("timestamp", "delay", "priority")},
        "processedOn": now,
        "atm": attempts_made,
        "ats": attempts_made + 1,
    }
    return GivenRecord(fields, job_id)
