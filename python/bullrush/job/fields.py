"""What Redis holds of a job, as Python values. Fields are decoded when they are asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from orjson import loads

from bullrush.errors import JobCancelledError, MalformedJobError
from bullrush.job.options import read_options
from bullrush.values.encoding import JSON, decode

if TYPE_CHECKING:
    from datetime import timedelta

    from bullrush._core import CoreQueue, ManualWork, Pending
    from bullrush.job.record import Record

JobT = TypeVar("JobT", bound="JobFields")


class Source(Protocol):
    """What jobs come from and call back to: a queue, or a worker."""

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
    def manual(self) -> ManualWork:
        """The compiled side of finishing jobs by hand."""

    @property
    def backoff_strategy(self) -> BackoffStrategy | None:
        """What decides on retries of jobs with a backoff type of their own."""

    @property
    def progressed(self) -> Progressed | None:
        """Told of the progress of its jobs."""

    def put_start_on_record(self, record: Record) -> Pending[None] | None:
        """Stamp a job that was claimed ahead and has started; None: there is nothing to stamp."""

    def emit(self, event: str, *arguments: object) -> bool:
        """Tell listeners in this process."""


#: See `JobFields.changes`.
Changes: TypeAlias = tuple[Mapping[str, bytes | None], bool]

Progressed: TypeAlias = "Callable[[JobFields, JSON], None]"

#: Gets attempts made, backoff type, error and job; returns ms to wait, 0 or None for none, -1 to fail the job; or a coroutine that does.
BackoffStrategy: TypeAlias = (
    "Callable[[int, str, BaseException, Any], float | timedelta | Awaitable[float | timedelta | None] | None]"
)


class JobFields:
    """The attributes of a job. They are as of the moment it was read, plus what was changed through this object."""

    __slots__ = ("_changed", "_data", "_source", "_stored", "discarded", "record")

    # Unset until decoded.
    _data: JSON
    _stored: dict[str, JSON]

    def __init__(self, record: Record, source: Source) -> None:
        self.record = record
        self._source = source
        self._changed: dict[str, bytes | None] | None = None
        self.discarded = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.name!r} of queue {self.queue_name!r}>"

    def read(self) -> None:
        """Decode data and options now, as a worker does before it calls the handler.

        Raises:
            MalformedJobError: one of them is not JSON.
        """
        record = self.record
        try:
            self._data = loads(record.data)
            self._stored = stored = loads(record.opts)
        except ValueError:
            stored = None
        if stored.__class__ is not dict:
            self._read_with_care()

    def _read_with_care(self) -> None:
        """Read what `read` could not: absent fields have defaults, as in Node; broken ones are named."""
        record = self.record
        self._data = decode(record.data or b"{}", "data", record.id)
        stored = decode(record.opts or b"{}", "opts", record.id)
        if not isinstance(stored, dict):
            raise MalformedJobError(f"Malformed job {record.id}: its opts are not an object")
        self._stored = stored

    def as_type(self, job_type: Callable[[Record, Source], JobT]) -> JobT:
        """Return the job as it is now as another object, of whatever class."""
        job = job_type(self.record, self._source)
        job.adopt(self)
        return job

    @property
    def changes(self) -> Changes:
        """What was changed through this object: the fields, as Redis has them, and whether the job was discarded."""
        return self._changed or {}, self.discarded

    def change(self, changes: Changes) -> None:
        """Take over what was changed through another object of the same job, maybe in another process."""
        fields, discarded = changes
        self._change(**fields)
        self.discarded |= discarded
        data = fields.get("data")
        if data is not None:
            self._data = loads(data)

    def trouble(self, error: BaseException) -> None:
        """Tell the ``error`` listeners of whoever has the job."""
        self._source.emit("error", error)

    def adopt(self, other: JobFields) -> None:
        """Be as another object of the same job is."""
        self._changed, self.discarded = other._changed, other.discarded
        if hasattr(other, "_data"):
            self._data = other._data

    def completed(self, returnvalue: bytes, finished_on: int) -> None:
        """Note the attempt's result, as Redis has it now."""
        self._end_attempt(returnvalue=returnvalue, finishedOn=b"%d" % finished_on)

    def failed(self, reason: str, stacktrace: bytes, finished_on: int) -> None:
        """Note that the attempt was the last one and failed, as Redis has it now."""
        self._end_attempt(failedReason=reason.encode(), stacktrace=stacktrace, finishedOn=b"%d" % finished_on)

    def retried(self, reason: str, stacktrace: bytes, delay: int) -> None:
        """Note that the attempt failed and another one follows, as Redis has it now."""
        self._end_attempt(failedReason=reason.encode(), stacktrace=stacktrace)
        if delay:  # a job that is retried at once keeps the one it had
            self._change(delay=b"%d" % delay)

    def _end_attempt(self, **fields: bytes) -> None:
        self._change(atm=b"%d" % (self.attempts_made + 1), attemptsMade=None, **fields)

    def _field(self, name: str) -> bytes | None:
        if self._changed is not None and name in self._changed:
            return self._changed[name]
        return self.record.get(name)

    def _change(self, **fields: bytes | None) -> None:
        self._changed = {**(self._changed or {}), **fields}

    def _number(self, name: str) -> int | None:
        raw = self._field(name)
        try:
            return None if raw is None else int(float(raw))
        except ValueError:
            return None

    def _text(self, name: str) -> str | None:
        raw = self._field(name)
        return None if raw is None else raw.decode(errors="replace")

    def _json(self, name: str) -> JSON:
        raw = self._field(name)
        try:
            return None if raw is None else decode(raw, name, self.record.id)
        except MalformedJobError:
            return None

    @property
    def id(self) -> str:
        """The job's id."""
        return self.record.id

    @property
    def name(self) -> str:
        """The job's name."""
        return self.record.name

    @property
    def data(self) -> JSON:
        """The job's data, decoded once.

        Raises:
            MalformedJobError: it is not JSON.
        """
        try:
            return self._data
        except AttributeError:
            self._read_with_care()
            return self._data

    @property
    def opts(self) -> dict[str, JSON]:
        """The options given when the job was added, under their names here."""
        try:
            stored = self._stored
        except AttributeError:
            self._read_with_care()
            stored = self._stored
        return read_options(stored)

    @property
    def queue_name(self) -> str:
        """The name of the job's queue."""
        return self._source.name

    @property
    def prefix(self) -> str:
        """The prefix of the queue's keys."""
        return self._source.prefix

    @property
    def queue_qualified_name(self) -> str:
        """Prefix and name of the queue: how its keys begin."""
        return f"{self._source.prefix}:{self._source.name}"

    @property
    def token(self) -> str | None:
        """The lock token, for a job that a worker of this process runs."""
        return self.record.token

    @property
    def cancelled(self) -> bool:
        """True once the handler should stop.

        Someone cancelled the job, or its time is over, or its outcome will not count: its lock is lost, or the worker's deadline
        to close has passed.
        """
        return self.record.cancelled

    @property
    def cancel_reason(self) -> str | None:
        """Why the job was cancelled: what `Worker.cancel_job` was told, or which time is over."""
        return self.record.cancel_reason

    def check_cancelled(self) -> None:
        """End a handler whose job was cancelled: a long-running plain function calls this now and then.

        Raises:
            JobCancelledError: the job was cancelled. Not caught, it fails the job with the reason, and without a retry.
        """
        if self.record.cancelled:
            raise JobCancelledError(self.record.cancel_reason or "the job is no longer held")

    @property
    def timestamp(self) -> int | None:
        """When the job was added, in ms."""
        return self._number("timestamp")

    @property
    def delay(self) -> int:
        """How long the job waits before it may run, in ms."""
        return self._number("delay") or 0

    @property
    def priority(self) -> int:
        """0 is none; else lower runs first."""
        return self._number("priority") or 0

    @property
    def progress(self) -> JSON:
        """What the handler last reported; 0 before that."""
        return 0 if self._field("progress") is None else self._json("progress")

    @property
    def returnvalue(self) -> JSON:
        """The handler's result, once the job is completed."""
        return self._json("returnvalue")

    @property
    def failed_reason(self) -> str | None:
        """The text of the last failure; a retry leaves it."""
        return self._text("failedReason")

    @property
    def stacktrace(self) -> list[str]:
        """One text per failure, the last one last."""
        traces = self._json("stacktrace")
        return traces if isinstance(traces, list) else []

    @property
    def deferred_failure(self) -> str | None:
        """Why the job will fail instead of running when it is taken next."""
        return self._text("defa")

    @property
    def attempts_made(self) -> int:
        """How many attempts have ended. During the first it is 0."""
        # A legacy field; where it is present other clients trust it, not the new one.
        made = self._number("attemptsMade")
        return (self._number("atm") or 0) if made is None else made

    @property
    def attempts_started(self) -> int:
        """How many attempts have begun."""
        return self._number("ats") or 0

    @property
    def stalled_counter(self) -> int:
        """How often the job was taken back from a worker that went silent."""
        return self._number("stc") or 0

    @property
    def processed_on(self) -> int | None:
        """When its last attempt began, in ms."""
        return self._number("processedOn")

    @property
    def finished_on(self) -> int | None:
        """When it completed or failed, in ms."""
        return self._number("finishedOn")

    @property
    def processed_by(self) -> str | None:
        """The name of the worker that took it last, if that has one."""
        return self._text("pb")

    @property
    def parent_key(self) -> str | None:
        """The key of its parent."""
        return self._text("parentKey")

    @property
    def parent(self) -> dict[str, JSON] | None:
        """Its parent's ``id`` and ``queueKey``."""
        parent = self._json("parent")
        return parent if isinstance(parent, dict) else None

    @property
    def deduplication_id(self) -> str | None:
        """The id that keeps further jobs like it away."""
        return self._text("deid")

    @property
    def repeat_job_key(self) -> str | None:
        """The job scheduler that made it."""
        return self._text("rjk")

    @property
    def next_repeatable_job_id(self) -> str | None:
        """The job that its scheduler made after it."""
        return self._text("nrjid")

    @property
    def debounce_id(self) -> str | None:
        """The same as `deduplication_id`; the older name."""
        return self.deduplication_id
