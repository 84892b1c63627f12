"""The values of options: Spark gives every one as text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, Final

import orjson

from bullrush.errors import InvalidOptionError

#: Takes the name of an option and its text, and returns the value.
Reader = Callable[[str, str], Any]

#: The largest number of ms for which BullMQ's scores are exact.
_MOST_MS: Final = 2**53


def text(name: str, given: str) -> str:
    """Return the text itself, which must not be empty."""
    if not given.strip():
        raise InvalidOptionError(f"option {name!r} is empty")
    return given


def columns(name: str, given: str) -> tuple[str, ...]:
    """Return the names of columns that are separated by commas."""
    names = tuple(part.strip() for part in given.split(","))
    if not all(names):
        raise InvalidOptionError(f"option {name!r} is a list of columns such as 'a,b', not {given!r}")
    return names


def flag(name: str, given: str) -> bool:
    """Return True or False."""
    if (lower := given.strip().lower()) not in {"true", "false"}:
        raise InvalidOptionError(f"option {name!r} must be true or false, not {given!r}")
    return lower == "true"


def whole(least: int) -> Reader:
    """Return a reader of whole numbers that are not smaller than ``least``."""

    def read(name: str, given: str) -> int:
        number = int(given) if given.strip().isascii() and given.strip().isdigit() else None
        if number is None or not least <= number <= _MOST_MS:
            raise InvalidOptionError(f"option {name!r} must be a whole number from {least}, not {given!r}")
        return number

    return read


def choice(*known: str) -> Reader:
    """Return a reader of one of some words."""

    def read(name: str, given: str) -> str:
        if (word := given.strip().lower()) not in known:
            raise InvalidOptionError(f"option {name!r} must be {' or '.join(known)}, not {given!r}")
        return word

    return read


def words(*known: str) -> Reader:
    """Return a reader of a list of words that are separated by commas, each at most once."""

    def read(name: str, given: str) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(part.strip().lower() for part in given.split(",")))
        if wrong := [word for word in found if word not in known]:
            raise InvalidOptionError(f"option {name!r} has no {wrong[0]!r}. There are: {', '.join(known)}")
        return found

    return read


def moment(name: str, given: str) -> int:
    """Return a moment in ms since 1970, from ms or from an ISO 8601 text with a zone (``Z`` or an offset)."""
    if given.strip().isascii() and given.strip().isdigit():
        return int(given)
    try:
        found = datetime.fromisoformat(given.strip().replace("Z", "+00:00"))
    except ValueError:
        found = datetime.min
    if found.tzinfo is None:
        raise InvalidOptionError(
            f"option {name!r} must be ms since 1970 or a time with its zone such as '2024-05-01T12:30:00Z', not "
            f"{given!r}"
        )
    return round(found.astimezone(timezone.utc).timestamp() * 1000)


def json_object(name: str, given: str) -> dict[str, Any]:
    """Return a JSON object."""
    try:
        found = orjson.loads(given)
    except orjson.JSONDecodeError as error:
        raise InvalidOptionError(f"option {name!r} must be a JSON object: {error}") from None
    if not isinstance(found, dict):
        raise InvalidOptionError(f"option {name!r} must be a JSON object, not {given!r}")
    names: dict[str, str] = {}
    for member in found:
        twin = names.setdefault(member.replace("_", "").lower(), member)
        if twin != member:
            raise InvalidOptionError(f"option {name!r} has {twin!r} and {member!r}, which are the same option")
    return found
