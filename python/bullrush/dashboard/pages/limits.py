"""What lets jobs of a queue start, and what does not: as sentences."""

from __future__ import annotations

from typing import TypedDict

from bullrush.extending import STUCK_AFTER
from bullrush.inspection import DueWork, span


class Limit(TypedDict):
    """A sentence about a queue.

    Attributes:
        text: the sentence.
        closed: it keeps jobs from starting now.
    """

    text: str
    closed: bool


def limits(work: DueWork, workers: int | None) -> list[Limit]:
    """Return the sentences, those that keep jobs from starting first.

    Args:
        work: what is due, and what holds it up.
        workers: how many are connected; None if that is not known.
    """
    found = [_oldest(work)]
    if work.paused:
        found.append({"text": "It is paused: workers take no jobs.", "closed": True})
    if workers is None:
        found.append({"text": "Redis does not say which workers are connected.", "closed": False})
    else:
        named = "No worker is" if not workers else f"{workers:,} {'worker is' if workers == 1 else 'workers are'}"
        is_deaf = bool(workers) and not work.active and work.is_stuck(work.last_start_age, STUCK_AFTER)
        takes = (", and takes no job" if workers == 1 else ", and none takes a job") if is_deaf else ""
        found.append({"text": f"{named} connected{takes}.", "closed": is_deaf or (not workers and bool(work.waiting))})
    if work.slots is not None:
        text = f"At most {work.slots:,} run at the same time, over all workers; {work.active:,} run now."
        found.append({"text": text, "closed": work.active >= work.slots})
    if work.rate is not None:
        most, period = work.rate
        left = f"; none starts for {span(work.period_left)} more" if work.rate_reached and work.period_left else ""
        text = f"At most {most:,} start in {span(period)}{left}."
        found.append({"text": text, "closed": work.rate_reached})
    elif work.limited_by_workers:
        text = "Perhaps a rate limit is reached that only the workers know."
        found.append({"text": text, "closed": True})
    return sorted(found, key=lambda limit: not limit["closed"])


def _oldest(work: DueWork) -> Limit:
    if not work.waiting:
        return {"text": "Nothing waits.", "closed": False}
    waiting = f"{work.waiting:,} {'job waits' if work.waiting == 1 else 'jobs wait'}"
    oldest = "" if work.oldest_age is None else f"; the oldest has been due for {span(work.oldest_age)}"
    return {"text": f"{waiting}{oldest}.", "closed": False}
