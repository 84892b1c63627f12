"""The attributes of a job, read from its fields in Redis, and how calls change them.

A field is decoded when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypeVar

from orjson import loads

from bullrush.errors import JobCancelledError, MalformedJobError
from bullrush.job.option_compiler import read_options
from bullrush.values.encoding import JSON, decode, read_number
from bullrush.values.naming import missing_attribute

if TYPE_CHECKING:
    from bullrush._core import JobRecord
    from bullrush.job.owner import Changes, JobOwner
    from bullrush.job.record import Record

JobT = TypeVar("JobT", bound="JobFields")


class JobFields:
    """The attributes of a job: as they were when the job was read, plus what was changed through this object since."""

    __slots__ = {
        "_changed": "What was changed through this object.",
        "_data": "The decoded data.",
        "_discarded": "Whether `discard` was called.",
        "_record": "The raw fields.",
        "_source": "Where the job came from.",
        "_stored": "The decoded options, under their stored names.",
    }

    # Not set until they are decoded.
    _data: JSON
    _stored: dict[str, JSON]

    def __init__(self, record: Record, source: JobOwner) -> None:
        self._record = record
        self._source = source
        self._changed: dict[str, bytes | None] | None = None
        self._discarded = False

    if not TYPE_CHECKING:  # type checkers would accept any name

        def __getattr__(self, name: str) -> NoReturn:
            # `_data` and `_stored` are not set until they are decoded.
            raise AttributeError(name) if name[0] == "_" else missing_attribute(self, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.name!r} of queue {self.queue_name!r}>"

    def _read(self) -> None:
        """Decode data and options now; a worker does this before it calls the handler.

        Raises:
            MalformedJobError: data or options are not JSON.
        """
        record = self._record
        try:
            self._data = loads(record.data)
            self._stored = stored = loads(record.opts)
        except ValueError:
            stored = None
        if stored.__class__ is not dict:
            self._read_carefully()

    def _read_carefully(self) -> None:
        """Decode what `read` could not: absent fields have defaults as in Node, broken ones raise."""
        record = self._record
        self._data = decode(record.data or b"{}", "data", record.id)
        stored = decode(record.opts or b"{}", "opts", record.id)
        if not isinstance(stored, dict):
            raise MalformedJobError(f"Malformed job {record.id}: its opts are not an object")
        self._stored = stored

    def _field(self, name: str) -> bytes | None:
        if self._changed is not None and name in self._changed:
            return self._changed[name]
        return self._record.get(name)

    def _number(self, name: str) -> int | None:
        return read_number(self._field(name))

    def _text(self, name: str) -> str | None:
        raw = self._field(name)
        return None if raw is None else raw.decode(errors="replace")

    def _json(self, name: str) -> JSON:
        raw = self._field(name)
        try:
            return None if raw is None else decode(raw, name, self._record.id)
        except MalformedJobError:
            return None

    @property
    def id(self) -> str:
        """The id of the job."""
        return self._record.id

    @property
    def name(self) -> str:
        """The name of the job."""
        return self._record.name

    @property
    def data(self) -> JSON:
        """The data of the job, any JSON value.

        It is decoded once; changes to it stay in this process, see `update_data`.

        Raises:
            MalformedJobError: the stored data is not JSON.
        """
        try:
            return self._data
        except AttributeError:
            self._read_carefully()
            return self._data

    @property
    def opts(self) -> dict[str, JSON]:
        """The options that the job was added with, under the names of `JobOptions`."""
        try:
            stored = self._stored
        except AttributeError:
            self._read_carefully()
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
        """The prefix and the name of the queue, ``bull:video``: the beginning of its keys."""
        return f"{self._source.prefix}:{self._source.name}"

    @property
    def token(self) -> str | None:
        """The lock token, if a worker of this process runs the job; else None."""
        return self._record.token

    @property
    def cancelled(self) -> bool:
        """True once the handler should stop; a long-running plain function checks this now and then.

        The job was cancelled, or its ``timeout`` is over, or its result would be dropped: its lock is lost, or the
        worker's deadline to close has passed.
        """
        return self._record.cancelled

    @property
    def cancel_reason(self) -> str | None:
        """Why the job was cancelled: the reason given to `Worker.cancel_job`, or the timeout. None if it was not."""
        return self._record.cancel_reason

    def check_cancelled(self) -> None:
        """Raise if the handler should stop; see `cancelled`. A long-running plain function calls this now and then.

        Raises:
            JobCancelledError: the job was cancelled. If the handler does not catch it, the job fails with the reason
                and is not retried.
        """
        if self._record.cancelled:
            raise JobCancelledError(self._record.cancel_reason or "the worker no longer holds the job")

    @property
    def timestamp(self) -> int | None:
        """When the job was added, in ms since 1970."""
        return self._number("timestamp")

    @property
    def delay(self) -> int:
        """How long the job waits before it may run, in ms; 0 if it does not."""
        return self._number("delay") or 0

    @property
    def priority(self) -> int:
        """The priority from 1, the most urgent, to 2,097,152; 0 is no priority and runs before all of them."""
        return self._number("priority") or 0

    @property
    def progress(self) -> JSON:
        """The progress that was last reported, any JSON value; 0 before that."""
        return 0 if self._field("progress") is None else self._json("progress")

    @property
    def returnvalue(self) -> JSON:
        """The result of the handler, any JSON value; None until the job is completed."""
        return self._json("returnvalue")

    @property
    def failed_reason(self) -> str | None:
        """The text of the last failure, None if there was none. It stays when the job is retried."""
        return self._text("failedReason")

    @property
    def stacktrace(self) -> list[str]:
        """The stack traces of the failed attempts, the newest last; at most ``stack_trace_limit``."""
        traces = self._json("stacktrace")
        return traces if isinstance(traces, list) else []

    @property
    def deferred_failure(self) -> str | None:
        """The reason with which the job will fail, without running, when a worker takes it; None for most jobs."""
        return self._text("defa")

    @property
    def attempts_made(self) -> int:
        """How many attempts have ended; 0 during the first one."""
        # Bull's count may be there as well, until the next attempt ends.
        return max(self._number("atm") or 0, self._number("attemptsMade") or 0)

    @property
    def attempts_started(self) -> int:
        """How many attempts have started; 1 during the first one."""
        return self._number("ats") or 0

    @property
    def stalled_counter(self) -> int:
        """How often the job was taken from a worker that stopped renewing its lock."""
        return self._number("stc") or 0

    @property
    def processed_on(self) -> int | None:
        """When the last attempt started, in ms since 1970; None before the first one."""
        return self._number("processedOn")

    @property
    def finished_on(self) -> int | None:
        """When the job completed or failed for good, in ms since 1970; None until then."""
        return self._number("finishedOn")

    @property
    def processed_by(self) -> str | None:
        """The ``name`` option of the worker that ran the last attempt, None if it has no name."""
        return self._text("pb")

    @property
    def parent_key(self) -> str | None:
        """The Redis key of the parent job, ``bull:video:7``; None without a parent."""
        return self._text("parentKey")

    @property
    def parent(self) -> dict[str, JSON] | None:
        """The parent job's ``id`` and ``queueKey`` (the queue with its prefix); None without a parent."""
        parent = self._json("parent")
        return parent if isinstance(parent, dict) else None

    @property
    def deduplication_id(self) -> str | None:
        """The deduplication id of the job, None if it has none."""
        return self._text("deid")

    @property
    def repeat_job_key(self) -> str | None:
        """The id of the job scheduler that made the job, None if none did."""
        return self._text("rjk")

    @property
    def next_repeatable_job_id(self) -> str | None:
        """The id of the job that the scheduler made after this one."""
        return self._text("nrjid")

    def _as_type(self, job_type: Callable[[Record, JobOwner], JobT]) -> JobT:
        """Return the job in its current state as an object of another class."""
        job = job_type(self._record, self._source)
        job._copy_changes(self)
        return job

    @property
    def _changes(self) -> Changes:
        """What was changed through this object."""
        return self._changed or {}, self._discarded

    def _apply_changes(self, changes: Changes) -> None:
        """Apply what was changed through another object of the same job, maybe in another process."""
        fields, discarded = changes
        self._change(**fields)
        self._discarded |= discarded
        data = fields.get("data")
        if data is not None:
            self._data = loads(data)

    def _take(self, stored: JobRecord) -> None:
        """Take the fields that Redis has now. A job that a worker holds keeps its lock token."""
        self._data = decode(stored.data or b"{}", "data", stored.id)
        if self.token is None:
            self._record, self._changed = stored, None
            if hasattr(self, "_stored"):
                del self._stored  # decoded anew when they are asked for
        else:
            self._change(**stored.fields())

    def _report_error(self, error: BaseException) -> None:
        """Emit ``error`` on the object that the job came from."""
        self._source.emit("error", error)

    def _copy_changes(self, other: JobFields) -> None:
        """Take the state of another object of the same job."""
        self._changed, self._discarded = other._changed, other._discarded
        if hasattr(other, "_data"):
            self._data = other._data

    def _set_completed(self, returnvalue: bytes, finished_on: int) -> None:
        """Set the fields as Redis has them after the job completed."""
        self._end_attempt(returnvalue=returnvalue, finishedOn=b"%d" % finished_on)

    def _set_failed(self, reason: str, stacktrace: bytes, finished_on: int) -> None:
        """Set the fields as Redis has them after the job failed for good."""
        self._end_attempt(failedReason=reason.encode(), stacktrace=stacktrace, finishedOn=b"%d" % finished_on)

    def _set_retried(self, reason: str, stacktrace: bytes, delay: int) -> None:
        """Set the fields as Redis has them after an attempt failed and another one follows."""
        self._end_attempt(failedReason=reason.encode(), stacktrace=stacktrace)
        if delay:  # a job that is retried at once keeps its old delay
            self._change(delay=b"%d" % delay)

    def _end_attempt(self, **fields: bytes) -> None:
        self._change(atm=b"%d" % (self.attempts_made + 1), attemptsMade=None, **fields)

    def _change(self, **fields: bytes | None) -> None:
        self._changed = {**(self._changed or {}), **fields}
