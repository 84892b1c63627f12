"""A job of Bull, as it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bullrush.errors import MalformedJobError
from bullrush.extending import JSON, decode, read_number

#: What is read where a field is missing.
_EMPTY: Final = b"{}"


class LegacyJob:
    """A job of Bull: its fields as they were when it was read. A field is decoded when it is asked for.

    Attributes:
        id: the id of the job.
        fields: the raw fields of its hash in Redis.
    """

    __slots__ = ("fields", "id")

    def __init__(self, id: str, fields: Mapping[str, bytes]) -> None:
        """Make the object from what Redis has.

        Args:
            id: the id of the job.
            fields: the fields of its hash.
        """
        self.id: str = id
        self.fields: Mapping[str, bytes] = fields

    def __repr__(self) -> str:
        return f"<LegacyJob {self.id}>" if self.name is None else f"<LegacyJob {self.id} {self.name!r}>"

    @property
    def name(self) -> str | None:
        """The name of the job; None with Bull 1 and 2, whose jobs have no names."""
        return self._text("name")

    @property
    def data(self) -> JSON:
        """The data of the job, any JSON value; ``{}`` if the job has none.

        Raises:
            MalformedJobError: the stored data is not JSON.
        """
        return decode(self.fields.get("data") or _EMPTY, "data", self.id)

    @property
    def opts(self) -> dict[str, JSON]:
        """The options that the job was added with, under Bull's names.

        Raises:
            MalformedJobError: the stored options are not a JSON object.
        """
        opts = decode(self.fields.get("opts") or _EMPTY, "opts", self.id)
        if not isinstance(opts, dict):
            raise MalformedJobError(f"Malformed job {self.id}: its opts are not an object")
        return opts

    @property
    def timestamp(self) -> int | None:
        """When the job was added, in ms since 1970."""
        return self._number("timestamp")

    @property
    def delay(self) -> int:
        """How long the job waits before it may run, in ms from its ``timestamp``; 0 if it does not."""
        return self._number("delay") or 0

    @property
    def priority(self) -> int:
        """The priority from 1, the most urgent; 0 is none. Bull runs jobs without a priority last."""
        stored = self._number("priority")
        return (self._option("priority") if stored is None else stored) or 0

    @property
    def lifo(self) -> bool:
        """Whether the job was added to run before those that waited."""
        try:
            return bool(self.opts.get("lifo"))
        except MalformedJobError:
            return False

    @property
    def attempts(self) -> int:
        """How often the job may run: a field of its own with Bull 1 and 2, else an option."""
        stored = self._number("attempts")
        return max((self._option("attempts") if stored is None else stored) or 1, 1)

    @property
    def attempts_made(self) -> int:
        """How many attempts have failed."""
        return self._number("attemptsMade") or 0

    @property
    def stalled_counter(self) -> int:
        """How often the job was taken from a worker that stopped renewing its lock; Bull 3 and 4."""
        return self._number("stalledCounter") or 0

    @property
    def processed_on(self) -> int | None:
        """When the last attempt started, in ms since 1970; Bull 3 and 4."""
        return self._number("processedOn")

    @property
    def finished_on(self) -> int | None:
        """When the job completed or failed for good, in ms since 1970; Bull 3 and 4."""
        return self._number("finishedOn")

    @property
    def progress(self) -> JSON:
        """The progress that was last reported, any JSON value; 0 before that."""
        return self._json("progress") or 0

    @property
    def returnvalue(self) -> JSON:
        """The result of the handler, any JSON value; None until the job is completed."""
        return self._json("returnvalue")

    @property
    def failed_reason(self) -> str | None:
        """The text of the last failure; None if there was none.

        Bull 1 stores no reason: there it is the first line of the last stack trace.
        """
        if reason := self._text("failedReason"):
            return reason
        traces = self.stacktrace
        return traces[-1].partition("\n")[0] if traces and isinstance(traces[-1], str) else None

    @property
    def stacktrace(self) -> list[str]:
        """The stack traces of the failed attempts, the newest last."""
        traces = self._json("stacktrace")
        return traces if isinstance(traces, list) else []

    def _text(self, field: str) -> str | None:
        raw = self.fields.get(field)
        return None if raw is None else raw.decode(errors="replace")

    def _number(self, field: str) -> int | None:
        return read_number(self.fields.get(field))

    def _option(self, name: str) -> int | None:
        """Return a number among the options, None without it, also if the options are broken."""
        try:
            return read_number(str(self.opts.get(name)))
        except MalformedJobError:
            return None

    def _json(self, field: str) -> JSON:
        raw = self.fields.get(field)
        try:
            return None if raw is None else decode(raw, field, self.id)
        except MalformedJobError:
            return None
