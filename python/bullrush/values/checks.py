"""Checks of single option values.

Each returns the value as Redis stores it, or raises `InvalidOptionError` with the option's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from bullrush.errors import InvalidOptionError
from bullrush.values.encoding import JSON
from bullrush.values.naming import check_known, check_unicode
from bullrush.values.shown import shown

#: Milliseconds, or a timedelta.
Duration: TypeAlias = int | timedelta

#: Checks one value: takes the option's name and the value.
Check: TypeAlias = Callable[[str, object], JSON]

#: 2^53 - 1, the largest whole number that Node represents exactly.
MAX_SAFE_INTEGER: Final = 9_007_199_254_740_991
MAX_PRIORITY: Final = 2_097_152

#: The most bytes of a payload, unless an object has another limit.
PAYLOAD_LIMIT: Final = 10_000_000

#: The longest time in seconds whose milliseconds are still exact in Node.
_MAX_SECONDS: Final = MAX_SAFE_INTEGER // 1000

_MILLISECOND: Final = timedelta(milliseconds=1)
_SECOND: Final = timedelta(seconds=1)


def boolean(name: str, value: object) -> bool:
    """Return a bool."""
    if not isinstance(value, bool):
        raise InvalidOptionError(f"{name} must be True or False, not {shown(value)}")
    return value


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Check that a value is one of a few words."""
    if value not in choices:
        raise InvalidOptionError(f"{name} must be {' or '.join(map(repr, choices))}, not {shown(value)}")


def one_of(*choices: str) -> Check:
    """Return a check for one of a few words."""

    def check(name: str, value: object) -> object:
        check_choice(name, value, choices)
        return value

    return check


def text(name: str, value: object) -> str:
    """Return a text that is not empty and is valid UTF-8."""
    if not isinstance(value, str) or not value:
        raise InvalidOptionError(f"{name} must be a text, not {shown(value)}")
    return check_unicode(name, value)


def whole(name: str, value: object) -> int:
    """Return a whole number. A float without a fraction is accepted."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidOptionError(f"{name} must be a whole number, not {shown(value)}")
    if abs(value) > MAX_SAFE_INTEGER:
        raise InvalidOptionError(
            f"{name} must be a whole number up to {MAX_SAFE_INTEGER:,}, which Node can represent exactly"
        )
    return value


def at_least(low: int) -> Check:
    """Return a check for whole numbers from ``low`` up."""

    def check(name: str, value: object) -> int:
        number = whole(name, value)
        if number < low:
            wanted = "greater than 0" if low == 1 else f"greater or equal than {low}"
            raise InvalidOptionError(f"{name} must be {wanted}, not {shown(value)}")
        return number

    return check


def payload_limit(name: str, value: object) -> int | None:
    """Return the most bytes of a payload; None is no limit."""
    return None if value is None else at_least(1)(name, value)


def durable(name: str, value: object) -> str | None:
    """Return where added jobs must be before the call returns: "any", "replica" or "aof"; None does not wait."""
    if isinstance(value, bool):
        return "any" if value else None
    if value not in ("replica", "aof"):
        raise InvalidOptionError(f"{name} must be True, False, 'replica' or 'aof', not {shown(value)}")
    return value


def milliseconds(name: str, value: object) -> int:
    """Return a duration in milliseconds."""
    if isinstance(value, timedelta):
        value = round(value / _MILLISECOND)
    try:
        return whole(name, value)
    except InvalidOptionError:
        advice = "; for a moment pass the time until then: when - datetime.now(when.tzinfo)"
        moment = advice if isinstance(value, datetime) else ""
        raise InvalidOptionError(
            f"{name} must be whole milliseconds or a timedelta, not {shown(value)}{moment}"
        ) from None


def not_negative_milliseconds(name: str, value: object) -> int:
    """Return a duration in milliseconds, at least 0."""
    duration = milliseconds(name, value)
    if duration < 0:
        raise InvalidOptionError(f"{name} must be greater or equal than 0, not {shown(value)}")
    return duration


def positive_milliseconds(name: str, value: object) -> int:
    """Return a duration in milliseconds, at least 1."""
    duration = milliseconds(name, value)
    if duration <= 0:
        raise InvalidOptionError(f"{name} must be greater than 0, not {shown(value)}")
    return duration


def positive_seconds(name: str, value: object) -> float:
    """Return a time in seconds greater than 0, for the arguments that are in seconds and not in ms."""
    length = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(length, bool) or not isinstance(length, int | float) or not 0 < length <= _MAX_SECONDS:
        raise InvalidOptionError(
            f"{name} must be seconds greater than 0, at most {_MAX_SECONDS:,}, or a timedelta, not {shown(value)}"
        )
    return length


def age_seconds(name: str, value: object) -> int:
    """Return an age in whole seconds, the unit of BullMQ's keep rules."""
    if isinstance(value, timedelta):
        return round(value / _SECOND)
    return whole(name, value)


def priority(name: str, value: object) -> int:
    """Return a job's priority: 0 is no priority; else a lower number runs first."""
    if isinstance(value, float) and not value.is_integer():
        raise InvalidOptionError("Priority should not be float")
    number = whole(name, value)
    if not 0 <= number <= MAX_PRIORITY:
        raise InvalidOptionError(f"Priority should be between 0 and {MAX_PRIORITY}, not {number}")
    return number


def members(name: str, value: object, known: Mapping[str, Check]) -> dict[str, JSON]:
    """Return an option that is a dict of options. Each member is checked; members that are None are left out."""
    if not isinstance(value, Mapping):
        raise InvalidOptionError(f"{name} must be a dict of {', '.join(known)}, not {type(value).__qualname__}")
    check_known(value, known, name)
    return {key: known[key](f"{name}.{key}", member) for key, member in value.items() if member is not None}


def _jitter(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidOptionError(f"Jitter should be between 0 and 1 ({name} is {shown(value)})")
    return value


_BACKOFF: Final[dict[str, Check]] = {"type": text, "delay": not_negative_milliseconds, "jitter": _jitter}
_KEEP: Final[dict[str, Check]] = {"age": age_seconds, "count": whole, "limit": at_least(1)}


#: The type of jobs that `bullrush.legacy` has moved with Bull's delays: `bullrush.legacy.bull_backoff` knows it.
BULL_EXPONENTIAL: Final = "bull-exponential"


def backoff(name: str, value: object) -> dict[str, JSON]:
    """Return a backoff as BullMQ stores it. A number means a fixed backoff."""
    if isinstance(value, str):
        example = {"type": value, "delay": 1000}
        raise InvalidOptionError(
            f"{name} must be ms between two attempts, or a dict such as {example}, not {shown(value)}"
        )
    if not isinstance(value, Mapping):
        return {"type": "fixed", "delay": not_negative_milliseconds(name, value)}
    stored = members(name, value, _BACKOFF)
    if "type" not in stored:
        raise InvalidOptionError(f"{name} needs a type: 'fixed', 'exponential' or the name of a custom strategy")
    return stored


def keep(name: str, value: object) -> JSON:
    """Return a keep rule for finished jobs: True, False, a count, or a dict of age and count."""
    if isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        return members(name, value, _KEEP)
    try:
        return whole(name, value)
    except InvalidOptionError:
        raise InvalidOptionError(
            f"{name} must be True, False, a count or a dict of age and count, not {shown(value)}"
        ) from None


def parent(name: str, value: object) -> dict[str, JSON]:
    """Return a parent: its id, and its queue's name with the prefix."""
    stored = members(name, value, {"id": text, "queue": text})
    if stored.keys() != {"id", "queue"}:
        raise InvalidOptionError(f"{name} needs the id and the queue of the parent job, not {shown(value)}")
    if ":" not in stored["queue"]:
        raise InvalidOptionError(f"{name}.queue must be a queue with its prefix, such as 'bull:{stored['queue']}'")
    return stored


_DEDUPLICATION: Final[dict[str, Check]] = {
    "id": text,
    "ttl": milliseconds,
    "extend": boolean,
    "replace": boolean,
    "keep_last_if_active": boolean,
    "reschedule": boolean,
}


def deduplication(name: str, value: object) -> dict[str, JSON]:
    """Return a deduplication as BullMQ stores it."""
    if isinstance(value, Mapping) and not value.get("id"):
        raise InvalidOptionError(f"{name.capitalize()} id must be provided")
    stored = members(name, value, _DEDUPLICATION)
    if "keep_last_if_active" in stored:
        stored["keepLastIfActive"] = stored.pop("keep_last_if_active")
    return stored
