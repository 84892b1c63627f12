"""Whether a job scheduler goes on. Its jobs are a chain: each one adds the next when it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from bullrush._core import cron_next
from bullrush.base.operation import reply
from bullrush.errors import InvalidOptionError

if TYPE_CHECKING:
    from bullrush._core import CoreQueue

#: The fields of the latest job of a scheduler that tell it.
CHAIN_FIELDS: Final = ("timestamp", "finishedOn", "opts")
#: So late the next job is no longer about to be added; ms.
_LATE: Final = 60_000
#: Ids with so many parts belong to repeatable jobs of the oldest format, which have no chain.
_OLDEST_FORMAT_PARTS: Final = 5
#: So far the clocks of two time zones may differ at most; ms.
_ZONES: Final = 26 * 3_600_000
_GONE: Final = "It makes no more jobs: its latest one was removed, and each adds the next one when it starts."
_ENDED: Final = "It makes no more jobs: its latest one has ended, and nobody has added the next one."


def job_due(scheduler: Mapping[str, Any], due: int) -> str:
    """Return the id of the job of a scheduler that is due at a time.

    Args:
        scheduler: the scheduler, as `Queue.get_job_schedulers` returns it.
        due: the time, in ms since 1970.
    """
    return f"repeat:{scheduler['key']}:{due}"


def latest_job(scheduler: Mapping[str, Any]) -> str:
    """Return the id of the latest job of a scheduler.

    Args:
        scheduler: the scheduler, as `Queue.get_job_schedulers` returns it.
    """
    return job_due(scheduler, scheduler["next"])


def why_stopped(scheduler: Mapping[str, Any], latest: Sequence[bytes | None], now: int) -> str | None:
    """Return a sentence that says why a scheduler makes no more jobs although it should; None if all is well.

    Args:
        scheduler: the scheduler, as `Queue.get_job_schedulers` returns it.
        latest: `CHAIN_FIELDS` of its latest job.
        now: the time.
    """
    added, finished, opts = latest
    # Before its time a job may have been run by hand; one that is gone has no successor.
    late = finished is not None and scheduler["next"] <= now - _LATE
    if (added is not None and not late) or _is_over(scheduler, now) or _was_last(opts):
        return None
    return _GONE if added is None else _ENDED


async def stopped(core: CoreQueue, schedulers: Sequence[Mapping[str, Any]], now: int) -> dict[str, str]:
    """Return why some schedulers of a queue make no more jobs, by their ids.

    Args:
        core: the connection.
        schedulers: the schedulers.
        now: the time.
    """
    jobs = await reply(core.job_fields([latest_job(one) for one in schedulers], CHAIN_FIELDS)) if schedulers else []
    found: dict[str, str] = {}
    for one, latest in zip(schedulers, jobs, strict=True):
        # It may have gone on between the two reads.
        if (why := why_stopped(one, latest, now)) and (again := await reply(core.scheduler(one["key"]))):
            _, due, _ = again
            found |= {one["key"]: why} if due == one["next"] else {}
    return found


def _is_over(scheduler: Mapping[str, Any], now: int) -> bool:
    """Tell whether a scheduler makes no more jobs, or nobody can know that."""
    if scheduler["key"].count(":") + 1 >= _OLDEST_FORMAT_PARTS:
        return True
    made, most, until = (scheduler.get(name) for name in ("iteration_count", "limit", "end_date"))
    if scheduler.get("offset") is None or made is None:
        return True  # a repeatable job of older versions: its limit is not in its hash
    if most is not None and made >= most:
        return True
    if until is None or until <= now:
        return until is not None
    pattern = scheduler.get("pattern")
    return pattern is not None and not _fires(pattern, scheduler.get("tz") or "", now, until)


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
