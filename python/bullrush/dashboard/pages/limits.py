"""What lets jobs of a queue start, and what does not: as sentences."""

from __future__ import annotations

from typing import TypedDict

from bullrush.extending import STUCK_AFTER
from bullrush.inspection import DueWork, Overview, span
from bullrush.routing import route_base


class Limit(TypedDict):
    """A sentence about a queue.

    Attributes:
        text: the sentence.
        closed: it keeps jobs from starting now.
    """

    text: str
    closed: bool


def limits(queue: str, seen: Overview, workers: int | None) -> list[Limit]:
    """Return the sentences, those that keep jobs from starting first.

    Args:
        queue: its name.
        seen: how many jobs it has, what is due, and what holds it up.
        workers: how many are connected; None if that is not known.
    """
    work = seen.work
    found = _waiting(work, seen.waiting_children)
    if work.paused:
        found.append({"text": "It is paused: workers take no jobs.", "closed": True})
    if workers is None:
        found.append({"text": "Redis does not say which workers are connected.", "closed": False})
    else:
        some = f"{workers:,} {'worker is' if workers == 1 else 'workers are'}"
        named = some if workers else f"{no_worker(queue)} is"
        is_deaf = bool(workers) and work.is_ignored(STUCK_AFTER)
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


def no_worker(queue: str) -> str:
    """Return the subject of a sentence about a queue without a worker. Those of a route need a matching profile."""
    return "No worker" if route_base(queue) is None else "No worker whose profile matches"


def _waiting(work: DueWork, parents: int) -> list[Limit]:
    found = []
    if work.waiting:
        oldest = "" if work.oldest_age is None else f"; the oldest has been due for {span(work.oldest_age)}"
        found.append(f"{work.waiting:,} {'job waits' if work.waiting == 1 else 'jobs wait'}{oldest}.")
    if parents:
        found.append(f"{parents:,} {'job waits for its' if parents == 1 else 'jobs wait for their'} children.")
    return [{"text": text, "closed": False} for text in found or ["Nothing waits."]]
