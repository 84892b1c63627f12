"""A job as JSON and from JSON, and BullMQ's static methods that make or find jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import orjson

from bullrush.errors import InvalidOptionError
from bullrush.job.fields import JobFields
from bullrush.job.option_compiler import OptionCompiler, read_options
from bullrush.job.options import JobOptions
from bullrush.job.record import GivenRecord
from bullrush.values.encoding import JSON, NO_DATA, decode, encode_as_node

if TYPE_CHECKING:
    from typing_extensions import Self

    from bullrush.job.options import NewJob
    from bullrush.job.owner import JobOwner

T_co = TypeVar("T_co", covariant=True)

_ATTRIBUTES: Final = (
    "id", "name", "data", "opts", "progress", "returnvalue", "stacktrace", "delay", "priority", "timestamp",
    "attempts_made", "attempts_started", "stalled_counter", "failed_reason", "deferred_failure", "processed_on",
    "finished_on", "processed_by", "parent_key", "parent", "deduplication_id", "repeat_job_key",
    "next_repeatable_job_id", "queue_qualified_name",
)  # fmt: skip


class _HasGetJob(Protocol[T_co]):
    def get_job(self, job_id: str, /) -> T_co: ...


class _HasAdd(Protocol[T_co]):
    def add(self, name: str, data: JSON = ..., /, **options: Any) -> T_co: ...


class _HasAddBulk(Protocol[T_co]):
    def add_bulk(self, jobs: Iterable[NewJob], /) -> T_co: ...


class _HasAddJobLog(Protocol[T_co]):
    def add_job_log(self, job_id: str, row: str, keep_logs: int | None = None, /) -> T_co: ...


class JobSerialization(JobFields):
    """Conversions of jobs, and BullMQ's static methods."""

    __slots__ = ()

    # Each of these returns what the queue's method returns: with a queue of `bullrush.aio` that is awaitable.

    @staticmethod
    def create(queue: _HasAdd[T_co], name: str, data: JSON = NO_DATA, opts: JobOptions | None = None) -> T_co:
        """Add a job; the same as `Queue.add`.

        Args:
            queue: the queue.
            name: the kind of job.
            data: any JSON value.
            opts: its options.
        """
        return queue.add(name, data, **(opts or {}))

    @staticmethod
    def create_bulk(queue: _HasAddBulk[T_co], jobs: Iterable[NewJob]) -> T_co:
        """Add many jobs; the same as `Queue.add_bulk`.

        Args:
            queue: the queue.
            jobs: dicts of ``name``, ``data`` and ``opts``.
        """
        return queue.add_bulk(jobs)

    @staticmethod
    def from_id(queue: _HasGetJob[T_co], job_id: str) -> T_co:
        """Return the job with this id, None if there is none; the same as `Queue.get_job`.

        Args:
            queue: the queue.
            job_id: the id of the job.
        """
        return queue.get_job(job_id)

    @staticmethod
    def add_job_log(queue: _HasAddJobLog[T_co], job_id: str, row: str, keep_logs: int | None = None) -> T_co:
        """Append a row to a job's log; the same as `Queue.add_job_log`.

        Args:
            queue: the queue.
            job_id: the id of the job.
            row: the text of the row.
            keep_logs: how many of the last rows are kept, 0 for all; None is what the job's option of this name says,
                100 by default.
        """
        return queue.add_job_log(job_id, row, keep_logs)

    @classmethod
    def from_json(cls, queue: JobOwner, fields: Mapping[str, object], job_id: str | None = None) -> Self:
        """Return a job from fields that were read elsewhere. Redis is not asked.

        Args:
            queue: the queue that the job belongs to.
            fields: the fields of the job's hash in Redis as bytes or str, or the result of `as_json`.
            job_id: the job's id; by default the ``id`` in ``fields``.

        Raises:
            InvalidOptionError: no id was given.
        """
        job_id = job_id or fields.get("id")  # type: ignore[assignment]
        if not job_id:
            raise InvalidOptionError("from_json() needs the job's id")
        return cls(GivenRecord(fields, str(job_id)), queue)

    @staticmethod
    def opts_from_json(stored: bytes | str) -> dict[str, JSON]:
        """Return options under the names of `JobOptions`, from the JSON that is stored with a job.

        Args:
            stored: the JSON.

        Raises:
            MalformedJobError: it is not a JSON object.
        """
        return read_options(decode(stored or "{}", "opts", "?"))

    @staticmethod
    def opts_as_json(opts: JobOptions) -> dict[str, JSON]:
        """Return options under the short names that BullMQ stores with a job.

        Args:
            opts: the options.

        Raises:
            InvalidOptionError: an option does not exist or has a bad value.
        """
        compiled, job_id = OptionCompiler().compile(opts)
        stored: dict[str, JSON] = orjson.loads(compiled.stored)
        return stored if job_id is None else {**stored, "jobId": job_id}

    def to_json(self) -> dict[str, JSON]:
        """Return all attributes of the job by name, as JSON values."""
        return {name: getattr(self, name) for name in _ATTRIBUTES}

    def as_json(self) -> dict[str, JSON]:
        """Return the job as BullMQ passes it to other processes, under BullMQ's names.

        Data, result and stack traces are JSON texts. `from_json` makes a job from it. Fields that the job does not
        have are left out.
        """
        fields = {
            "id": self.id,
            "name": self.name,
            "data": encode_as_node(self.data, "data").decode(),
            "opts": decode(self._record.opts or b"{}", "opts", self.id),
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
            "stacktrace": encode_as_node(self.stacktrace, "stacktrace").decode(),
            "deduplicationId": self.deduplication_id,
            "repeatJobKey": self.repeat_job_key,
            "nextRepeatableJobId": self.next_repeatable_job_id,
            "deferredFailure": self.deferred_failure,
            "processedBy": self.processed_by,
            "returnvalue": encode_as_node(self.returnvalue, "returnvalue").decode(),
        }
        return {name: value for name, value in fields.items() if value is not None}

    def as_json_sandbox(self) -> dict[str, JSON]:
        """Return `as_json` and the name, the qualified name and the prefix of the job's queue."""
        queue = {"queueName": self.queue_name, "queueQualifiedName": self.queue_qualified_name, "prefix": self.prefix}
        return {**self.as_json(), **queue}
