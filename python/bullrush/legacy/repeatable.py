"""A repeatable job of Bull 3 and 4, as a member of the set ``repeat``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Final

from bullrush.extending import cron_next

# From the right, since names may have colons. Bull 3.0 stores the end as it was given, which may be a time with colons.
_KEY: Final = re.compile(
    r"(?P<name>.*):(?P<id>[^:]*):(?P<end>\d*|[^:]+:\d\d:\d\d[^:]*):"
    r"(?:(?P<tz>[^:]*):(?P<pattern>[^:]*[^:\d][^:]*)|(?P<every>\d+))",
    re.DOTALL,
)


@dataclass(frozen=True)
class Repeatable:
    """A repeatable job of Bull 3 or 4.

    Attributes:
        key: the member of the set ``repeat``, from which the other attributes are read.
        next: when it runs next, in ms since 1970.
        name: the name of its jobs.
        id: the id that it was added with, None without one.
        pattern: the cron pattern, None if it has an interval.
        every: the interval in ms, None if it has a pattern.
        tz: the time zone of the pattern, None for that of the workers.
        end_date: when it ends, in ms since 1970; None if it does not end.
    """

    key: str
    next: int
    name: str
    id: str | None = None
    pattern: str | None = None
    every: int | None = None
    tz: str | None = None
    end_date: int | None = None


def read_repeatable(key: str, next: int) -> Repeatable:
    """Return a repeatable job from its key. A key of another form is only a name."""
    found = _KEY.fullmatch(key)
    if found is None:
        return Repeatable(key, next, key)
    return Repeatable(
        key,
        next,
        name=found["name"],
        id=found["id"] or None,
        pattern=found["pattern"],
        every=None if found["every"] is None else int(found["every"]),
        tz=found["tz"] or None,
        end_date=_time(found["end"]),
    )


def _time(text: str) -> int | None:
    """Return the time in ms since 1970, None if it cannot be read."""
    if not text or text.isdecimal():
        return int(text) if text else None
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return round(moment.timestamp() * 1000)


def next_time(repeatable: Repeatable, repeat: dict[str, Any], after: int) -> int | None:
    """Return when a repeatable runs next, as Bull computes it; None if it has ended."""
    count, limit = repeat.get("count"), repeat.get("limit")
    if isinstance(limit, int) and (count if isinstance(count, int) else 0) >= limit:
        return None
    if repeatable.every:
        next: int | None = after // repeatable.every * repeatable.every + repeatable.every
    elif repeatable.pattern:
        tz = repeatable.tz or repeat.get("tz") or ("UTC" if repeat.get("utc") else None)
        next = cron_next(repeatable.pattern, tz, after)
    else:
        next = None
    return None if next is None or (repeatable.end_date is not None and next > repeatable.end_date) else next
