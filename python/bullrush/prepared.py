"""A job on its way in: checked, in the form in which it is sent, and as it looks once it is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from bullrush.encoding import JSON, encode
from bullrush.errors import InvalidOptionError
from bullrush.naming import check_job_name

if TYPE_CHECKING:
    from bullrush import _core
    from bullrush.options import Link, OptionCompiler

_FIELDS_OF_AN_ADD: Final = ("timestamp", "delay", "priority")

#: The job as the core takes it, and what it belongs to.
PreparedJob: TypeAlias = "tuple[_core.NewJob, Link | None]"


def prepare(
    compiler: OptionCompiler, name: object, data: JSON, options: Mapping[str, object], timestamp: int
) -> PreparedJob:
    """Return a job as the core takes it; ``timestamp`` is the time of the add.

    Raises:
        DataError: a part of the data is not JSON.
        InvalidOptionError: the name or an option cannot be used.
    """
    name = check_job_name(name)
    compiled, job_id = compiler.compile(options)
    stored, own_timestamp, delay, priority, lifo, size_limit, link = compiled
    encoded = encode(data, "data")
    if size_limit is not None and len(encoded) > size_limit:
        raise InvalidOptionError(f"The size of job {name} exceeds the limit {size_limit} bytes")
    return (name, encoded, stored, job_id, own_timestamp or timestamp, delay, priority, lifo), link


class AddedRecord:
    """The raw fields of a job as they were sent to Redis."""

    __slots__ = ("_link", "_sent", "id")

    cancelled = False
    cancel_reason = None
    token = None

    def __init__(self, job_id: str, sent: _core.NewJob, link: Link | None = None) -> None:
        # One of many: it takes itself apart only when somebody looks.
        self.id = job_id
        self._sent = sent
        self._link = link

    @property
    def name(self) -> str:
        """The job's name."""
        return self._sent[0]

    @property
    def data(self) -> bytes:
        """The data, JSON."""
        return self._sent[1]

    @property
    def opts(self) -> bytes:
        """The options, JSON under their short names."""
        opts, custom_id = self._sent[2:4]
        if custom_id is None or (self._link and self._link.made):
            return opts
        # As the script stores it, which takes the options of many jobs and the id of each.
        return b'%s,"jobId":%s}' % (opts[:-1], encode(custom_id, "job_id"))

    def get(self, field: str) -> bytes | None:
        """Return any other field, None if the job does not have it."""
        if field in _FIELDS_OF_AN_ADD:
            return b"%d" % self._sent[4:7][_FIELDS_OF_AN_ADD.index(field)]
        return None if self._link is None else _linked(self._link).get(field)


def _linked(link: Link) -> dict[str, bytes]:
    """Return the fields that say what a job belongs to."""
    fields = {} if link.parent is None else {"parentKey": link.parent[0], "parent": link.parent[1]}
    if link.deduplication is not None:
        fields["deid"] = link.deduplication[0]
    return {name: value.encode() for name, value in fields.items()}
