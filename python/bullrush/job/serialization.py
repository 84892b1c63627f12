"""A job's other forms: JSON, fields read elsewhere, and the calls by which BullMQ makes one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import orjson

from bullrush.errors import InvalidOptionError
from bullrush.job.fields import JobFields, Source
from bullrush.job.options import JobOptions, OptionCompiler, read_options
from bullrush.job.record import GivenRecord
from bullrush.values.encoding import JSON, NO_DATA, decode, encode

if TYPE_CHECKING:
    from typing_extensions import Self

    from bullrush.job.options import NewJob

T_co = TypeVar("T_co", covariant=True)

_SHOWN: Final = (
    "id", "name", "data", "opts", "progress", "returnvalue", "stacktrace", "delay", "priority", "timestamp",
    "attempts_made", "attempts_started", "stalled_counter", "failed_reason", "deferred_failure", "processed_on",
    "finished_on", "processed_by", "parent_key", "parent", "deduplication_id", "repeat_job_key",
    "next_repeatable_job_id", "queue_qualified_name",
)  # fmt: skip


class _Finds(Protocol[T_co]):
    def get_job(self, job_id: str, /) -> T_co: ...


class _Adds(Protocol[T_co]):
    def add(self, name: str, data: JSON = ..., /, **options: Any) -> T_co: ...


class _AddsMany(Protocol[T_co]):
    def add_bulk(self, jobs: Iterable[NewJob], /) -> T_co: ...


class _Logs(Protocol[T_co]):
    def add_job_log(self, job_id: str, row: str, keep_logs: int | None = None, /) -> T_co: ...


class JobSerialization(JobFields):
    """What turns jobs into other things and other things into jobs."""

    __slots__ = ()

    # Each of these answers as the queue does: a queue of `bullrush.aio` gives something to await.

    @staticmethod
    def create(queue: _Adds[T_co], name: str, data: JSON = NO_DATA, opts: JobOptions | None = None) -> T_co:
        """Add a job; the same as `Queue.add`."""
        return queue.add(name, data, **(opts or {}))

    @staticmethod
    def create_bulk(queue: _AddsMany[T_co], jobs: Iterable[NewJob]) -> T_co:
        """Add many jobs; the same as `Queue.add_bulk`."""
        return queue.add_bulk(jobs)

    @staticmethod
    def from_id(queue: _Finds[T_co], job_id: str) -> T_co:
        """Return the job, None if there is none of this id; the same as `Queue.get_job`."""
        return queue.get_job(job_id)

    @staticmethod
    def add_job_log(queue: _Logs[T_co], job_id: str, row: str, keep_logs: int | None = None) -> T_co:
        """Append a row to a job's log; the same as `Queue.add_job_log`."""
        return queue.add_job_log(job_id, row, keep_logs)

    @classmethod
    def from_json(cls, queue: Source, fields: Mapping[str, object], job_id: str | None = None) -> Self:
        """Return a job of fields that are at hand already; nothing is read from Redis.

        Args:
            queue: the queue it belongs to.
            fields: the fields of its hash in Redis as bytes or str, or what `as_json` returned.
            job_id: its id; by default the ``id`` in ``fields``.

        Raises:
            InvalidOptionError: there is no id.
        """
        job_id = job_id or fields.get("id")  # type: ignore[assignment]
        if not job_id:
            raise InvalidOptionError("from_json() needs the job's id")
        return cls(GivenRecord(fields, str(job_id)), queue)

    @staticmethod
    def opts_from_json(stored: bytes | str) -> dict[str, JSON]:
        """Return options as they are here, from the JSON stored with a job.

        Raises:
            MalformedJobError: it is not a JSON object.
        """
        return read_options(decode(stored or "{}", "opts", "?"))

    @staticmethod
    def opts_as_json(opts: JobOptions) -> dict[str, JSON]:
        """Return options as they are stored with a job, under BullMQ's short names.

        Raises:
            InvalidOptionError: an option does not exist or has a bad value.
        """
        compiled, job_id = OptionCompiler().compile(opts)
        stored: dict[str, JSON] = orjson.loads(compiled.stored)
        return stored if job_id is None else {**stored, "jobId": job_id}

    def to_json(self) -> dict[str, JSON]:
        """Return all attributes of the job by name; ready to be encoded as JSON, for a log or a web page."""
        return {name: getattr(self, name) for name in _SHOWN}

    def as_json(self) -> dict[str, JSON]:
        """Return the job as BullMQ hands it to other processes: its names, with data, result and stack traces as JSON texts.

        `from_json` makes a job of it again. Absent fields are left out.
        """
        fields = {
            "id": self.id,
            "name": self.name,
            "data": encode(self.data, "data").decode(),
            "opts": orjson.loads(self.record.opts or b"{}"),
            "parent": self.parent,
            "parentKey": self.parent_key,
            "progress": self.progress,
            "attemptsMade": self.attempts_made,
            "attemptsStarted": self.attempts_started,
            "stalledCounter": self.stalled_counter,
            "finishedOn": self.finished_on,
            "processedOn": self.processed_on,
            "timestamp": self.timestamp,
            "failedReason": self.failed_reason,
            "stacktrace": encode(self.stacktrace, "stacktrace").decode(),
            "deduplicationId": self.deduplication_id,
            "repeatJobKey": self.repeat_job_key,
            "nextRepeatableJobId": self.next_repeatable_job_id,
            "deferredFailure": self.deferred_failure,
            "processedBy": self.processed_by,
            "returnvalue": encode(self.returnvalue, "returnvalue").decode(),
        }
        return {name: value for name, value in fields.items() if value is not None}

    def as_json_sandbox(self) -> dict[str, JSON]:
        """Return `as_json` and where the job's queue is."""
        place = {"queueName": self.queue_name, "queueQualifiedName": self.queue_qualified_name, "prefix": self.prefix}
        return {**self.as_json(), **place}
