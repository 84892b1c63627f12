"""The raw fields of a job: as the core fetched them, as other code read them, or as they were just added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol

from bullrush.values.encoding import encode

if TYPE_CHECKING:
    from bullrush import _core
    from bullrush.job.option_compiler import Link


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
        self.id = job_id
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


_ADD_FIELDS: Final = ("timestamp", "delay", "priority")


class AddedRecord:
    """The raw fields of a job that was just added."""

    __slots__ = ("_link", "_sent", "id")

    cancelled = False
    cancel_reason = None
    token = None

    def __init__(self, job_id: str, sent: _core.NewJob, link: Link | None = None) -> None:
        # The fields are read from the sent tuple only when they are asked for: most jobs of a bulk are never looked at.
        self.id = job_id
        self._sent = sent
        self._link = link

    @property
    def name(self) -> str:
        """The job's name."""
        return self._sent[0]

    @property
    def data(self) -> bytes:
        """The data as JSON."""
        return self._sent[1]

    @property
    def opts(self) -> bytes:
        """The options as JSON, under their short names."""
        opts, custom_id = self._sent[2:4]
        if custom_id is None or (self._link and self._link.made):
            return opts
        # The script appends the id in the same way, since it gets the options once for many jobs.
        return b'%s,"jobId":%s}' % (opts[:-1], encode(custom_id, "job_id"))

    def get(self, field: str) -> bytes | None:
        """Return the raw value of another field, None if the job does not have it."""
        if field in _ADD_FIELDS:
            return b"%d" % self._sent[4:7][_ADD_FIELDS.index(field)]
        return None if self._link is None else _linked(self._link).get(field)


def _linked(link: Link) -> dict[str, bytes]:
    """Return the fields for the parent and the deduplication id of a job."""
    fields = {} if link.parent is None else {"parentKey": link.parent[0], "parent": link.parent[1]}
    if link.deduplication is not None:
        fields["deid"] = link.deduplication[0]
    return {name: value.encode() for name, value in fields.items()}
