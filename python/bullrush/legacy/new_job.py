"""A new job of Bull: its options, checked, and its fields as each version stores them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bullrush.errors import InvalidOptionError
from bullrush.extending import JSON, Check, check_job_id, check_unicode, checks, encode
from bullrush.legacy.flavor import Layout

#: 2^53: scores up to here are exact. The score of a delayed job is its time times 4096.
_SCORE: Final = 4096
_LATEST: Final = checks.MAX_SAFE_INTEGER // _SCORE

_NOT_NEGATIVE: Final = checks.at_least(0)
#: The key of Bull that could be the hash of a job, besides those that BullMQ has, too.
_RESERVED_ID: Final = "meta-paused"


def _delay(name: str, value: object) -> int:
    delay: int = _NOT_NEGATIVE(name, checks.milliseconds(name, value))
    return delay


def _backoff(name: str, value: object) -> dict[str, JSON]:
    stored = checks.backoff(name, value)
    if "jitter" in stored:
        raise InvalidOptionError(f"{name} cannot have a jitter: Bull has none")
    return stored


def _job_id(name: str, value: object) -> str:
    if value == _RESERVED_ID:
        raise InvalidOptionError(f"{name} cannot be {value!r}: that key belongs to the queue")
    return check_job_id(value)


def _debounce(name: str, value: object) -> dict[str, JSON]:
    stored: dict[str, JSON] = checks.members(name, value, {"id": checks.text, "ttl": checks.positive_milliseconds})
    if not stored.get("id"):
        raise InvalidOptionError(f"{name}.id is needed")
    return stored


#: The name of an option -> its name in the stored JSON, and the check of its value; in the order in which they are
#: stored.
_OPTIONS: Final[dict[str, tuple[str, Check]]] = {
    "job_id": ("jobId", _job_id),
    "delay": ("delay", _delay),
    "priority": ("priority", checks.priority),
    "lifo": ("lifo", checks.boolean),
    "attempts": ("attempts", checks.at_least(1)),
    "backoff": ("backoff", _backoff),
    "timeout": ("timeout", checks.positive_milliseconds),
    "remove_on_complete": ("removeOnComplete", checks.keep),
    "remove_on_fail": ("removeOnFail", checks.keep),
    "stack_trace_limit": ("stackTraceLimit", checks.at_least(1)),
    "debounce": ("debounce", _debounce),
    "timestamp": ("timestamp", _NOT_NEGATIVE),
}
#: What older versions do not have; they would ignore it.
_MISSING: Final[dict[str, tuple[str, ...]]] = {
    "1": ("job_id", "priority", "remove_on_complete", "remove_on_fail", "stack_trace_limit", "debounce", "repeat"),
    "2": ("stack_trace_limit", "debounce", "repeat"),
    "3": ("debounce",),
}


@dataclass(frozen=True)
class NewLegacyJob:
    """A new job, checked and encoded.

    Attributes:
        name: its name; not stored by Bull 1 and 2.
        data: its data as JSON.
        opts: its options under Bull's names.
        now: the time, in ms since 1970.
    """

    name: str
    data: bytes
    opts: dict[str, JSON]
    now: int

    @property
    def timestamp(self) -> int:
        """When it was added."""
        return int(self.opts.get("timestamp", self.now))

    @property
    def delay(self) -> int:
        """How long it waits, in ms."""
        return int(self.opts.get("delay", 0))

    @property
    def attempts(self) -> int:
        """How often it may run."""
        return int(self.opts.get("attempts", 1))

    def due(self, layout: Layout) -> int:
        """Return when the job is due, 0 if it may run now. Bull 1 and 2 do not delay jobs whose time has come."""
        due = self.timestamp + self.delay if self.delay else 0
        return due if layout >= "3" or due > self.now else 0

    def stored_options(self, layout: Layout) -> bytes:
        """Return its options as JSON. Bull 3 and 4 also store the defaults of some."""
        defaults = {"attempts": 1, "delay": 0, "timestamp": self.now} if layout >= "3" else {}
        return encode(
            {**self.opts, **{name: value for name, value in defaults.items() if name not in self.opts}}, "opts"
        )

    def arguments(self, layout: Layout, token: str) -> list[int | str | bytes]:
        """Return the arguments of the script ``add_1``, ``add_2`` or ``add_3``.

        Args:
            layout: the version of Bull.
            token: what tells the messages of this producer from those of others.
        """
        due, lifo = self.due(layout), int(self.opts.get("lifo", False))
        times = [self.timestamp, self.delay, due]
        options = self.stored_options(layout)
        head: list[int | str | bytes] = [self.data, options, *times]
        place: list[int | str | bytes] = [self.opts.get("priority", 0), self.opts.get("jobId", ""), token]
        if layout == "1":
            return [*head, self.attempts, lifo]
        if layout == "2":
            return [*head, self.attempts, lifo, *place]
        debounce = self.opts.get("debounce", {})
        return [self.name, *head, lifo, *place, debounce.get("id", ""), debounce.get("ttl", "")]

    def fields(self, layout: Layout) -> dict[str, bytes]:
        """Return the fields of its hash, as the script stores them."""
        common = {
            "data": self.data,
            "opts": self.stored_options(layout),
            "timestamp": b"%d" % self.timestamp,
            "delay": b"%d" % self.delay,
        }
        if layout >= "3":
            priority = b"%d" % self.opts.get("priority", 0)
            debounced = {"deid": self.opts["debounce"]["id"].encode()} if "debounce" in self.opts else {}
            return {"name": self.name.encode(), **common, "priority": priority, **debounced}
        counts = {"attempts": b"%d" % self.attempts, "attemptsMade": b"0", "progress": b"0"}
        results = {"stacktrace": b"[]", "returnvalue": b"null"}
        return {**common, **counts, **results, **({"failedReason": b""} if layout == "2" else {})}


def new_job(layout: Layout, name: object, data: JSON, options: Mapping[str, object], now: int) -> NewLegacyJob:
    """Return a new job.

    Args:
        layout: the version of Bull.
        name: the name of the job.
        data: the data, any JSON value.
        options: the options of `LegacyQueue.add`; those that are None were not given.
        now: the time, in ms since 1970.

    Raises:
        DataError: a part of the data is not JSON.
        InvalidOptionError: an option has an invalid value, or this version of Bull does not have it.
    """
    if not isinstance(name, str):
        raise InvalidOptionError(f"Job name must be a str, not {type(name).__name__}")
    for option in _MISSING.get(layout, ()):
        if options.get(option) is not None:
            raise InvalidOptionError(f"{option} cannot be used: Bull {layout}.x does not have it")
    opts: dict[str, JSON] = {
        stored: check(option, options[option])
        for option, (stored, check) in _OPTIONS.items()
        if options.get(option) is not None
    }
    for option in ("removeOnComplete", "removeOnFail"):
        if layout == "2" and not isinstance(opts.get(option, True), bool):
            raise InvalidOptionError(f"{option} must be True or False: Bull 2.x would remove all jobs")
    job = NewLegacyJob(check_unicode("Job name", name), encode({} if data is None else data, "data"), opts, now)
    if job.timestamp + job.delay > _LATEST:
        raise InvalidOptionError(
            f"the job would be due at {job.timestamp + job.delay}; Bull's latest time is {_LATEST} (2039)"
        )
    return job
