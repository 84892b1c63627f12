"""The attributes of a job, read from its fields in Redis. A field is decoded when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from orjson import loads

from bullrush.errors import JobCancelledError, MalformedJobError
from bullrush.job.option_compiler import read_options
from bullrush.values.encoding import JSON, decode, read_number
from bullrush.values.naming import missing_attribute

if TYPE_CHECKING:
    from bullrush.job.record import Record
    from bullrush.job.source import Source


class JobAttributes:
    """The attributes of a job: as they were when the job was read, plus what was changed through this object since."""

    __slots__ = {
        "_changed": "What was changed through this object.",
        "_data": "The decoded data.",
        "_source": "Where the job came from.",
        "_stored": "The decoded options, under their stored names.",
        "discarded": "Internal: whether `discard` was called.",
        "record": "Internal: the raw fields.",
    }

    # Not set until they are decoded.
    _data: JSON
    _stored: dict[str, JSON]

    def __init__(self, record: Record, source: Source) -> None:
        self.record = record
        self._source = source
        self._changed: dict[str, bytes | None] | None = None
        self.discarded = False

    if not TYPE_CHECKING:  # type checkers would accept any name

        def __getattr__(self, name: str) -> NoReturn:
            # `_data` and `_stored` are not set until they are decoded.
            raise AttributeError(name) if name[0] == "_" else missing_attribute(self, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.name!r} of queue {self.queue_name!r}>"

    def read(self) -> None:
        """Internal: decode data and options now; a worker does this before it calls the handler.

        Raises:
            MalformedJobError: data or options are not JSON.
        """
        record = self.record
        try:
            self._data = loads(record.data)
            self._stored = stored = loads(record.opts)
        except ValueError:
            stored = None
        if stored.__class__ is not dict:
            self._read_carefully()

    def _read_carefully(self) -> None:
        """Decode what `read` could not: absent fields have defaults as in Node, broken ones raise."""
        record = self.record
        self._data = decode(record.data or b"{}", "data", record.id)
        stored = decode(record.opts or b"{}", "opts", record.id)
        if not isinstance(stored, dict):
            raise MalformedJobError(f"Malformed job {record.id}: its opts are not an object")
        self._stored = stored

    def _field(self, name: str) -> bytes | None:
        if self._changed is not None and name in self._changed:
            return self._changed[name]
        return self.record.get(name)

    def _number(self, name: str) -> int | None:
        return read_number(self._field(name))

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
        """The id of the job."""
        return self.record.id

    @property
    def name(self) -> str:
        """The name of the job."""
        return self.record.name

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
        return self.record.token

    @property
    def cancelled(self) -> bool:
        """True once the handler should stop; a long-running plain function checks this now and then.

        The job was cancelled, or its ``timeout`` is over, or its result would be dropped: its lock is lost, or the
        worker's deadline to close has passed.
        """
        return self.record.cancelled

    @property
    def cancel_reason(self) -> str | None:
        """Why the job was cancelled: the reason given to `Worker.cancel_job`, or the timeout. None if it was not."""
        return self.record.cancel_reason

    def check_cancelled(self) -> None:
        """Raise if the handler should stop; see `cancelled`. A long-running plain function calls this now and then.

        Raises:
            JobCancelledError: the job was cancelled. If the handler does not catch it, the job fails with the reason
                and is not retried.
        """
        if self.record.cancelled:
            raise JobCancelledError(self.record.cancel_reason or "the worker no longer holds the job")

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
