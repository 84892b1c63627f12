"""Which queue the jobs belong to that a worker holds: the core tells their ids, which are per queue."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bullrush._core import JobRecord


def ids_by_queue(held: Iterable[str], unfinished: Iterable[JobRecord], otherwise: str) -> dict[str, list[str]]:
    """Return the ids of jobs by queue.

    Args:
        held: the ids of all jobs; two queues may have the same ones.
        unfinished: those that handlers have.
        otherwise: the name for the rest.
    """
    left, found = Counter(held), defaultdict[str, list[str]](list)
    for record in unfinished:
        if left[record.id]:
            left[record.id] -= 1
            found[record.queue_name or otherwise].append(record.id)
    if rest := list(left.elements()):
        found[otherwise] += rest
    return found


def queue_of(unfinished: Iterable[JobRecord], job_id: str, token: str) -> str | None:
    """Return the queue of the job that was taken under this token, None if no handler has it."""
    found = (record.queue_name for record in unfinished if (record.id, record.token) == (job_id, token))
    return next(found, None)
