"""Changing the fields of a job object: after a call, or from another object of the same job."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from orjson import loads

from bullrush.job.attributes import JobAttributes

if TYPE_CHECKING:
    from bullrush.job.record import Record
    from bullrush.job.source import Changes, Source

JobT = TypeVar("JobT", bound="JobFields")


class JobFields(JobAttributes):
    """A job whose fields can be changed."""

    __slots__ = ()

    def as_type(self, job_type: Callable[[Record, Source], JobT]) -> JobT:
        """Internal: return the job in its current state as an object of another class."""
        job = job_type(self.record, self._source)
        job.copy_changes(self)
        return job

    @property
    def changes(self) -> Changes:
        """Internal: what was changed through this object."""
        return self._changed or {}, self.discarded

    def apply_changes(self, changes: Changes) -> None:
        """Internal: apply what was changed through another object of the same job, maybe in another process."""
        fields, discarded = changes
        self._change(**fields)
        self.discarded |= discarded
        data = fields.get("data")
        if data is not None:
            self._data = loads(data)

    def report_error(self, error: BaseException) -> None:
        """Internal: emit ``error`` on the object that the job came from."""
        self._source.emit("error", error)

    def copy_changes(self, other: JobFields) -> None:
        """Internal: take the state of another object of the same job."""
        self._changed, self.discarded = other._changed, other.discarded
        if hasattr(other, "_data"):
            self._data = other._data

    def completed(self, returnvalue: bytes, finished_on: int) -> None:
        """Internal: set the fields as Redis has them after the job completed."""
        self._end_attempt(returnvalue=returnvalue, finishedOn=b"%d" % finished_on)

    def failed(self, reason: str, stacktrace: bytes, finished_on: int) -> None:
        """Internal: set the fields as Redis has them after the job failed for good."""
        self._end_attempt(failedReason=reason.encode(), stacktrace=stacktrace, finishedOn=b"%d" % finished_on)

    def retried(self, reason: str, stacktrace: bytes, delay: int) -> None:
        """Internal: set the fields as Redis has them after an attempt failed and another one follows."""
        self._end_attempt(failedReason=reason.encode(), stacktrace=stacktrace)
        if delay:  # a job that is retried at once keeps its old delay
            self._change(delay=b"%d" % delay)

    def _end_attempt(self, **fields: bytes) -> None:
        self._change(atm=b"%d" % (self.attempts_made + 1), attemptsMade=None, **fields)

    def _change(self, **fields: bytes | None) -> None:
        self._changed = {**(self._changed or {}), **fields}
