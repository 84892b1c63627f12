"""The raw fields of a job: those that the core has, fetched or just added, or those that other code read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from bullrush.values.encoding import encode


class Record(Protocol):
    """The raw fields of a job."""

    @property
    def id(self) -> str:
        """The job's id."""

    @property
    def name(self) -> str:
        """The job's name."""

    @property
    def data(self) -> bytes:
        """The data as JSON."""

    @property
    def opts(self) -> bytes:
        """The options as JSON, under their short names."""

    @property
    def token(self) -> str | None:
        """The lock token, if a worker of this process has the job."""

    @property
    def cancelled(self) -> bool:
        """True once the handler should stop."""

    @property
    def cancel_reason(self) -> str | None:
        """Why the job was cancelled, None if it was not."""

    def get(self, field: str) -> bytes | None:
        """Return the raw value of another field, None if the job does not have it."""


#: Names in BullMQ's JSON of a job -> names in Redis, where they differ.
_STORED_AS: Final = {
    "attemptsStarted": "ats",
    "stalledCounter": "stc",
    "deduplicationId": "deid",
    "debounceId": "deid",
    "repeatJobKey": "rjk",
    "nextRepeatableJobId": "nrjid",
    "deferredFailure": "defa",
    "processedBy": "pb",
}


class GivenRecord:
    """The raw fields of a job that other code read from Redis."""

    __slots__ = ("_fields", "id")

    cancelled = False
    cancel_reason = None
    token: str | None = None

    def __init__(self, fields: Mapping[str, object], job_id: str) -> None:
        self.id: str = job_id
        self._fields = {_STORED_AS.get(name, name): _raw(value) for name, value in fields.items() if value is not None}

    @property
    def name(self) -> str:
        """The job's name."""
        return self._fields.get("name", b"").decode(errors="replace")

    @property
    def data(self) -> bytes:
        """The data as JSON."""
        return self._fields.get("data", b"")

    @property
    def opts(self) -> bytes:
        """The options as JSON, under their short names."""
        return self._fields.get("opts", b"")

    def get(self, field: str) -> bytes | None:
        """Return the raw value of another field, None if the job does not have it."""
        return self._fields.get(field)


def _raw(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else encode(value, "field")
