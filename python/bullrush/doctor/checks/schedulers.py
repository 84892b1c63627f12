"""BR112: job schedulers whose chain of jobs is broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson

from bullrush.doctor.finding import Finding, counted
from bullrush.doctor.reading import QueueUnderTest
from bullrush.errors import InvalidOptionError
from bullrush.extending import cron_next, now_ms, read_number

#: So late it is no longer about to run; ms.
_LATE: Final = 60_000
#: So many are looked at, those whose time comes first.
_MOST: Final = 1_000
#: Ids with so many parts belong to repeatable jobs of the oldest format, which have no chain.
_OLDEST_FORMAT_PARTS: Final = 5
#: So far the clocks of two time zones may differ at most; ms.
_ZONES: Final = 26 * 3_600_000
_FIELDS: Final = ("offset", "ic", "limit", "endDate", "pattern", "tz")


async def chains(tested: QueueUnderTest) -> list[Finding]:
    """BR112: the latest job of a scheduler is gone or has ended, and nobody made the next one."""
    now = now_ms()
    first = await tested.server.ask("ZRANGE", tested.key("repeat"), 0, _MOST - 1, "WITHSCORES")
    pairs = zip(first[::2], first[1::2], strict=True)
    found = {id.decode(errors="replace"): read_number(score) or 0 for id, score in pairs}
    found = {id: millis for id, millis in found.items() if id.count(":") + 1 < _OLDEST_FORMAT_PARTS}
    hashes = await tested.server.ask_fields([["HMGET", tested.key(f"repeat:{id}"), *_FIELDS] for id in found])
    keys = {id: tested.key(f"repeat:{id}:{millis}") for id, millis in found.items()}
    jobs = await tested.server.ask_fields([["HMGET", key, "timestamp", "finishedOn"] for key in keys.values()])
    broken = []
    for (id, millis), scheduler, (timestamp, finished) in zip(found.items(), hashes, jobs, strict=True):
        # Before its time a job may have been run by hand; one that is gone has no successor, which is added when it
        # starts.
        has_stopped = timestamp is None or (finished is not None and millis <= now - _LATE)
        if has_stopped and not _is_over(scheduler, now):
            broken.append(id)
    last = await tested.server.ask_fields([["HMGET", keys[id], "opts"] for id in broken])
    broken = [id for id, (opts,) in zip(broken, last, strict=True) if not _was_last(opts)]
    limits = dict(zip(found, (fields[_FIELDS.index("limit")] for fields in hashes), strict=True))
    fixable = tuple(id for id in broken if limits[id] is None)
    limited = tuple(id for id in broken if limits[id] is not None)
    return [
        Finding("BR112", counted(len(ids), what), tested.name, ids, fleeting=True, left_alone=left)
        for ids, what, left in ((fixable, "scheduler", False), (limited, "scheduler with a limit", True))
        if ids
    ]


def _is_over(fields: Sequence[bytes | None], now: int) -> bool:
    """Tell whether a scheduler makes no more jobs, or nobody can know that from its hash."""
    offset, count, limit, end, pattern, tz = fields
    if offset is None or count is None:
        return True  # a repeatable job of older versions: its limit is not in its hash
    made, most, until = read_number(count), read_number(limit), read_number(end)
    if made is None or (most is not None and made >= most):
        return True
    if until is None or until <= now:
        return until is not None
    return pattern is not None and not _fires(pattern.decode(), (tz or b"").decode(), now, until)


def _fires(pattern: str, tz: str, now: int, end: int) -> bool:
    """Tell whether a pattern has a time before the end; False if nobody can know."""
    doubt = 0 if tz else _ZONES  # the zone of the program that makes the jobs
    try:
        firing = cron_next(pattern, tz or "UTC", now + doubt)
    except InvalidOptionError:
        return False  # programs of Node can have patterns of their own
    return firing is not None and firing <= end - doubt


def _was_last(opts: bytes | None) -> bool:
    """Tell whether a job was the last one that its limit allows; it need not have counted from 1."""
    try:
        repeat = orjson.loads(opts or b"{}")["repeat"]
        return bool(repeat["count"] >= repeat["limit"])
    except (ValueError, KeyError, TypeError):
        return False
