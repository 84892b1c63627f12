"""One event of a queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from orjson import loads

from bullrush.values.encoding import JSON, malformed
from bullrush.values.naming import camel

#: The fields that are no texts, by event, and how they are decoded.
_DECODED: Final[dict[str, dict[str, Callable[[str], JSON]]]] = {
    "completed": {"returnvalue": loads},
    "progress": {"data": loads},
    "delayed": {"delay": int},
    "cleaned": {"count": int},
    "retries-exhausted": {"attemptsMade": int},
}


class Event(Mapping[str, JSON]):
    """One event of a queue.

    Its fields are attributes (``event.failed_reason``) and items (``event["failed_reason"]`` or
    ``event["failedReason"]``). ``returnvalue`` of ``completed`` and ``data`` of ``progress`` are JSON values;
    ``delay``, ``count`` and ``attempts_made`` are numbers; other fields are texts.

    Attributes:
        event: the name of the event: ``completed``, ``failed``, ``waiting``...
        id: the id of the entry in the stream, ``<ms since 1970>-<n>``.
    """

    __slots__ = ("_fields", "event", "id")

    def __init__(self, entry_id: str, fields: dict[str, str]) -> None:
        self.id: str = entry_id
        self.event: str = fields.get("event", "")
        self._fields = fields

    @property
    def job_id(self) -> str | None:
        """The id of the job; None for events of the whole queue."""
        return self._fields.get("jobId")

    def __getitem__(self, name: str) -> JSON:
        field = name if name in self._fields else camel(name)
        value = self._fields[field]
        decode = _DECODED.get(self.event, {}).get(field)
        if decode is None:
            return value
        try:
            return decode(value)
        except ValueError as error:
            raise malformed(field, self.job_id or "?", error) from None

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{self!r} has no {name!r}, only {', '.join(self)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        of_job = "" if self.job_id is None else f" of job {self.job_id}"
        return f"<Event {self.event!r}{of_job}, {self.id}>"
