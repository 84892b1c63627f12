"""When the jobs of a scheduler are due: the next ones, and the one before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bullrush._core import cron_next
from bullrush.errors import InvalidOptionError

#: The time before is looked for within so many ms.
_LONGEST: Final = 5 * 366 * 86_400_000


def coming_runs(scheduler: Mapping[str, Any], now: int, most: int) -> list[int]:
    """Return when the next jobs of a scheduler are due, in ms since 1970. Redis is not asked.

    Args:
        scheduler: the scheduler, as `Queue.get_job_schedulers` returns it.
        now: the time.
        most: how many at most; fewer if the scheduler ends before, or has a pattern that only its own programs read.
    """
    due: int | None = scheduler["next"]
    # Its latest job counts, too: if it is due already, it was the last one, or it runs.
    made = scheduler.get("iteration_count") or 1
    end, limit = scheduler.get("end_date"), scheduler.get("limit")
    found: list[int] = []
    while due is not None and len(found) < most:
        if end is not None and due > end:
            break
        if due > now:
            found.append(due)
        if limit is not None and made >= limit:
            break
        made += 1
        due = _behind(scheduler, due, now)
    return found


def _behind(scheduler: Mapping[str, Any], due: int, now: int) -> int | None:
    """Return when the job behind the one that is due at some time is due, but not earlier than now."""
    if every := scheduler.get("every"):
        late = max(0, now - due) // every
        return int(due + every * max(1, late))
    if pattern := scheduler.get("pattern"):
        return _fires(scheduler, pattern, max(due, now))
    return None


def _fires(scheduler: Mapping[str, Any], pattern: str, behind: int) -> int | None:
    """Return the next time of a pattern; None if it has none, or if only the programs that use it can read it."""
    try:
        return cron_next(pattern, scheduler.get("tz"), behind, scheduler.get("dst") == "bullmq")
    except InvalidOptionError:
        return None


def run_before(scheduler: Mapping[str, Any]) -> int | None:
    """Return when the job before the latest one was due, by the times of the scheduler; None if there was none.

    Slots that were missed while no worker ran are not known.

    Args:
        scheduler: the scheduler, as `Queue.get_job_schedulers` returns it.
    """
    due: int = scheduler["next"]
    if (scheduler.get("iteration_count") or 1) < 2:
        return None
    if every := scheduler.get("every"):
        return int(due - every)
    pattern = scheduler.get("pattern")
    return None if pattern is None else _cron_before(scheduler, pattern, due)


def _cron_before(scheduler: Mapping[str, Any], pattern: str, due: int) -> int | None:
    """Return the last time of a pattern before another one. A pattern only tells what comes behind a time."""

    def behind(moment: int) -> int:
        found = _fires(scheduler, pattern, moment)
        return due if found is None else found

    early, late = due - _LONGEST, due
    if behind(early) >= due:
        return None
    while late - early > 1:
        middle = (early + late) // 2
        early, late = (middle, late) if behind(middle) < due else (early, middle)
    return behind(early)
