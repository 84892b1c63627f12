"""BR112: job schedulers whose chain of jobs is broken."""

from __future__ import annotations

from typing import Any, Final

from bullrush.doctor.finding import Finding, counted
from bullrush.doctor.reading import QueueUnderTest
from bullrush.extending import now_ms, read_number
from bullrush.inspection import CHAIN_FIELDS, latest_job, why_stopped

#: So many are looked at, those whose time comes first.
_MOST: Final = 1_000
_FIELDS: Final = ("offset", "ic", "limit", "endDate", "pattern", "tz")


async def chains(tested: QueueUnderTest) -> list[Finding]:
    """BR112: the latest job of a scheduler is gone or has ended, and nobody made the next one."""
    now = now_ms()
    first = await tested.server.ask("ZRANGE", tested.key("repeat"), 0, _MOST - 1, "WITHSCORES")
    due = {
        id.decode(errors="replace"): read_number(score) or 0 for id, score in zip(first[::2], first[1::2], strict=True)
    }
    hashes = await tested.server.ask_fields([["HMGET", tested.key(f"repeat:{id}"), *_FIELDS] for id in due])
    found = [_scheduler(id, next, fields) for (id, next), fields in zip(due.items(), hashes, strict=True)]
    keys = [tested.key(latest_job(one)) for one in found]
    jobs = await tested.server.ask_fields([["HMGET", key, *CHAIN_FIELDS] for key in keys])
    broken = [one for one, latest in zip(found, jobs, strict=True) if why_stopped(one, latest, now)]
    fixable = tuple(one["key"] for one in broken if one["limit"] is None)
    limited = tuple(one["key"] for one in broken if one["limit"] is not None)
    return [
        Finding("BR112", counted(len(ids), what), tested.name, ids, fleeting=True, left_alone=left)
        for ids, what, left in ((fixable, "scheduler", False), (limited, "scheduler with a limit", True))
        if ids
    ]


def _scheduler(id: str, next: int, fields: list[bytes | None]) -> dict[str, Any]:
    """Return a scheduler as `Queue.get_job_schedulers` does."""
    offset, made, limit, end, pattern, tz = fields
    return {
        "key": id,
        "next": next,
        "offset": read_number(offset),
        "iteration_count": read_number(made),
        "limit": read_number(limit),
        "end_date": read_number(end),
        "pattern": None if pattern is None else pattern.decode(errors="replace"),
        "tz": None if tz is None else tz.decode(errors="replace"),
    }
