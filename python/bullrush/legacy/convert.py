"""Turns the hash of a Bull job into the hash that BullMQ would hold. No call of this file touches Redis."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import orjson

from bullrush.extending import checks, read_number

#: How waiting jobs run after the move: in the order in which Bull would run them, or by BullMQ's priorities. Delayed
#: jobs and repeatables have no place among those that wait: they keep their priority with both.
Order: TypeAlias = Literal["keep", "priority"]

#: What becomes of a job whose id another job has: it stays in the queue of Bull, or gets the id ``<queue>-<id>``.
TakenIds: TypeAlias = Literal["skip", "rename"]

#: ``priority``: it loses its priority. ``backoff``: it waits otherwise between attempts. ``strategy``: each worker
#: needs `bullrush.legacy.bull_backoff`. ``max_backoff``: a worker of bullrush waits less, by its option of that name.
Difference: TypeAlias = Literal["priority", "backoff", "strategy", "max_backoff"]

#: A hash as Redis has it.
RawHash: TypeAlias = Mapping[str, bytes]

#: The name that Bull 3 and 4 give to jobs without a name.
UNNAMED: Final = "__default__"

#: The fields of Bull whose values `convert` uses. All others, ``data`` among them, are carried as they are.
FIELDS: Final = (
    "name",
    "opts",
    "timestamp",
    "delay",
    "attempts",
    "attemptsMade",
    "stalledCounter",
    "processedOn",
    "finishedOn",
    "progress",
    "returnvalue",
    "failedReason",
    "stacktrace",
    "priority",
)
#: Fields of Bull that no job of BullMQ has.
DROPPED: Final = ("lockAcquired", "retriedOn", "deid")
#: Members of the options that mean nothing to BullMQ, or would be wrong there.
_DROPPED_OPTIONS: Final = ("timestamp", "delay", "repeat", "jobId", "debounce", "prevMillis", "preventParsingData")

#: The types of back-off that need nothing more, or what the user has asked for.
_KNOWN_BACKOFFS: Final = ("fixed", "exponential", checks.BULL_EXPONENTIAL)
#: The longest delay before a retry of a worker that has no other `max_backoff`, ms.
_MAX_BACKOFF: Final = 3_600_000
_FINISHED: Final = ("completed", "failed")
_LEAST_URGENT: Final = 2_097_152
#: The greatest number that Node and Redis count exactly; a greater one is taken for it.
_MOST: Final = 2**53 - 1
_ERROR_CLASS: Final = re.compile(r"^(?:[A-Za-z_$][\w$]*: )")


class Rules(NamedTuple):
    """What the user asked for.

    Attributes:
        order: see `Order`.
        default_name: the name of jobs without one.
        keep_backoff: exponential backoff keeps Bull's delays.
        tz: the time zone of cron patterns without one.
        taken_ids: see `TakenIds`.
    """

    order: Order = "keep"
    default_name: str = UNNAMED
    keep_backoff: bool = False
    tz: str | None = None
    taken_ids: TakenIds = "skip"


class Converted(NamedTuple):
    """A job as BullMQ would hold it.

    Attributes:
        fields: the whole hash; ``data`` and fields of the user's own only if they were given.
        priority: 0, or its place among the prioritized jobs.
        timestamp: when the job was added, ms.
        finished_on: when it finished, ms; 0 for a job that has not.
        notes: what the user has to know about this job, if anything.
    """

    fields: dict[str, bytes]
    priority: int
    timestamp: int
    finished_on: int
    notes: tuple[str, ...]


def convert(raw: RawHash, state: str, now: int, rules: Rules, due: int | None = None) -> Converted:
    """Return a job of Bull as BullMQ would hold it.

    Args:
        raw: the hash; it may lack ``data``, which is carried as it is.
        state: the legacy list or set that holds the job: ``wait``, ``paused``, ``delayed``, ``active``, ``completed``
            or ``failed``.
        now: the time, ms.
        rules: see `Rules`.
        due: when a delayed job may run, ms.
    """
    notes: list[str] = []
    if "deid" in raw:
        notes.append("its debounce id was not moved")
    given = read_options(raw.get("opts", b"{}"))
    # Those that wait run by their place, which says all about their priority.
    by_place = rules.order == "keep" and state != "delayed"
    opts = _options(raw, given, rules, notes)
    timestamp = _first_number(raw.get("timestamp"), given.get("timestamp") if isinstance(given, dict) else None) or now
    finished = state in _FINISHED
    if by_place and opts is not None:
        opts.pop("priority", None)
    priority = 0 if by_place or finished else _priority(raw, opts, notes)
    fields = {field: value for field, value in raw.items() if field not in FIELDS and field not in DROPPED}
    fields["name"] = _name(raw, rules)
    # Options that are not JSON cannot be converted, and are not lost either.
    fields["opts"] = raw.get("opts", b"{}") if opts is None else orjson.dumps(opts)
    fields["timestamp"] = _text(timestamp)
    fields["delay"] = _text(_delay(raw, timestamp, now, due) if state == "delayed" and due is not None else 0)
    fields["priority"] = _text(priority)
    fields.update(_history(raw, state))
    finished_on = 0
    if finished:
        finished_on = _first_number(raw.get("finishedOn")) or timestamp
        fields["finishedOn"] = _text(finished_on)
        if state == "completed":
            fields["returnvalue"] = _as_json(raw.get("returnvalue", b"null"))
    return Converted(fields, priority, timestamp, finished_on, tuple(notes))


def differences(raw: RawHash, state: str, rules: Rules) -> list[Difference]:
    """Return in what way a job that still has to run behaves otherwise than in Bull.

    Args:
        raw: its hash.
        state: the legacy list or set that holds it.
        rules: see `Rules`.
    """
    given = read_options(raw.get("opts", b"{}"))
    opts = given if isinstance(given, dict) else {}
    found: list[Difference] = []
    if rules.order == "keep" and state != "delayed" and _first_number(raw.get("priority"), opts.get("priority")):
        found.append("priority")
    backoff = _backoff(opts.get("backoff"), rules) or {}
    attempts = _first_number(raw.get("attempts"), opts.get("attempts")) or 0
    if attempts <= 1 + _count(raw, "attemptsMade"):
        return found
    longest = _first_number(backoff.get("delay")) or 0
    if backoff.get("type") in ("exponential", checks.BULL_EXPONENTIAL):
        found.append("strategy" if rules.keep_backoff else "backoff")
        longest <<= min(attempts - 2, 62)
    if longest > _MAX_BACKOFF:
        found.append("max_backoff")
    return found


def read_options(stored: bytes) -> Any:
    """Return options as Bull stores them; something that is neither a dict nor None if they cannot be converted."""
    given = _decoded(stored)
    try:
        orjson.dumps(given)
    except orjson.JSONEncodeError:
        return _BROKEN  # no JSON, or nested too deeply
    return given


def due_at(score: bytes) -> int:
    """Return when a delayed job may run, ms, by its score; 0 if that is no time."""
    return (read_number(score) or 0) // 4096


def changes(raw: RawHash, converted: Converted) -> tuple[dict[str, bytes], list[str]]:
    """Return which fields of a hash are to be set and which to be deleted, so that it becomes the converted one."""
    written = {field: value for field, value in converted.fields.items() if raw.get(field) != value}
    return written, [field for field in raw if field not in converted.fields]


def _options(raw: RawHash, given: Any, rules: Rules, notes: list[str]) -> dict[str, Any] | None:
    """Return the options as BullMQ stores them; None if those that were given are not a JSON object."""
    if given is None:
        given = {}  # Bull 1 and 2 accept null
    if not isinstance(given, dict):
        notes.append("its options are not a JSON object: moved as they are")
        return None
    opts = {name: value for name, value in given.items() if name not in _DROPPED_OPTIONS}
    # Bull 1 and 2 have the limit in a field of its own.
    attempts = _first_number(raw.get("attempts"), given.get("attempts"))
    opts["attempts"] = 0 if attempts is None else max(attempts, 0)
    backoff = _backoff(opts.pop("backoff", None), rules)
    if backoff is not None:
        opts["backoff"] = backoff
        if (kind := backoff.get("type")) not in _KNOWN_BACKOFFS:
            notes.append(f"its back-off is of the type {kind!r}, which Worker(backoff_strategy=...) has to know")
    if not opts.get("lifo"):
        opts.pop("lifo", None)
    if opts.get("timeout"):
        notes.append("it has the option `timeout`, which BullMQ does not know: Worker(timeout=...) is the limit")
    return opts


def _backoff(given: object, rules: Rules) -> dict[str, Any] | None:
    if isinstance(given, bool) or not given:
        return None
    if isinstance(given, int | float | str):
        delay = _first_number(given)
        return {"type": "fixed", "delay": delay} if delay else None
    if not isinstance(given, dict):
        return None
    if rules.keep_backoff and given.get("type") == "exponential":
        return {**given, "type": checks.BULL_EXPONENTIAL}
    return given


def _priority(raw: RawHash, opts: dict[str, Any] | None, notes: list[str]) -> int:
    given = _first_number(raw.get("priority"), (opts or {}).get("priority")) or 0
    priority = min(max(given, 0), _LEAST_URGENT)
    if priority != given:
        notes.append(f"its priority {given} became {priority}, the nearest that BullMQ has")
    if opts is not None:
        opts.pop("priority", None)
        if priority:
            opts["priority"] = priority
    return priority


def _name(raw: RawHash, rules: Rules) -> bytes:
    name = raw.get("name")
    return rules.default_name.encode() if name is None or name == UNNAMED.encode() else name


def _delay(raw: RawHash, timestamp: int, now: int, due: int) -> int:
    """Return the delay: what the job was added with, or for a retry what is left of its backoff."""
    return max(due - (now if _count(raw, "attemptsMade") else timestamp), 0)


def _history(raw: RawHash, state: str) -> dict[str, bytes]:
    """Return the fields about the attempts that Bull made."""
    fields: dict[str, bytes] = {}
    # Bull counts failures, BullMQ counts attempts that ended.
    made = _count(raw, "attemptsMade") + (state == "completed")
    started = max(made + (state == "active"), "processedOn" in raw)
    stalled = _count(raw, "stalledCounter") + (state == "active")
    for field, count in (("atm", made), ("ats", started), ("stc", stalled)):
        if count:
            fields[field] = _text(count)
    if "processedOn" in raw:
        fields["processedOn"] = raw["processedOn"]
    traces = _decoded(raw["stacktrace"]) if raw.get("stacktrace", b"[]") != b"[]" else None
    if isinstance(traces, list) and traces:
        fields["stacktrace"] = raw["stacktrace"]
    if reason := raw.get("failedReason"):
        fields["failedReason"] = reason
    elif state == "failed" or "stacktrace" in fields:
        fields["failedReason"] = _last_error(traces)
    if raw.get("progress", b"0") != b"0":
        fields["progress"] = _as_json(raw["progress"])
    return fields


def _last_error(traces: object) -> bytes:
    """Return the message of the last error: the first line of its stack, without the class."""
    last = traces[-1] if isinstance(traces, list) and traces else ""
    line = last.split("\n", 1)[0] if isinstance(last, str) else ""
    return _ERROR_CLASS.sub("", line).encode(errors="replace")


def _as_json(stored: bytes) -> bytes:
    """Return a value that BullMQ parses: as it is, or as a JSON text if it is no JSON."""
    if _decoded(stored) is _BROKEN:
        return orjson.dumps(stored.decode(errors="replace"))
    return stored


_BROKEN: Final = object()


def _decoded(stored: bytes) -> Any:
    try:
        return orjson.loads(stored)
    except orjson.JSONDecodeError:
        return _BROKEN


def _count(raw: RawHash, field: str) -> int:
    return max(_first_number(raw.get(field)) or 0, 0)


def _first_number(*given: object) -> int | None:
    """Return the first of the values that is a number; clients write numbers as numbers and as texts."""
    for value in given:
        if isinstance(value, int | float | str | bytes):
            number = read_number(value if isinstance(value, bytes | str) else str(value))
            if number is not None:
                return min(max(number, -_MOST), _MOST)
    return None


def _text(number: int) -> bytes:
    return b"%d" % number
