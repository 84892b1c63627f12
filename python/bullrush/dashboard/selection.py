"""Which jobs of a state a filter means: all of them, not only those of a page."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from bullrush.aio import Queue
from bullrush.dashboard.answer import Asked
from bullrush.dashboard.bulk import MOST
from bullrush.extending import SeenJob, reply, run_async, seen_jobs

#: So many ids are read in a round trip.
_PAGE: Final = 1_000


class Selection(NamedTuple):
    """The jobs that a filter means, as they are now.

    Attributes:
        jobs: the jobs.
        looked_at: how many were looked at.
        total: how many there are in the state.
    """

    jobs: list[SeenJob]
    looked_at: int
    total: int


async def select(asked: Asked, state: str, name: str | None, failure: str | None, *, newest_first: bool) -> Selection:
    """Note the jobs of a state that fit, at most `MOST`.

    Args:
        asked: who asks, and for which queue.
        state: the state.
        name: a pattern of names; None is any.
        failure: the id of a group of failures; None is any.
        newest_first: jobs that came last are noted first.
    """
    queue = asked.queue
    if failure is not None:
        await asked.viewer.demand("data", asked.queue_name)
        return await _of_failure(queue, name, failure)
    counts = await queue.get_job_counts()
    total = counts["waiting"] + counts["paused"] if state == "waiting" else counts[state]
    found: dict[str, SeenJob] = {}
    at = 0
    while at < total and len(found) < MOST:
        page = await queue.get_ranges(state, at, at + _PAGE - 1, asc=not newest_first)
        # Jobs that move meanwhile may let one come twice.
        found |= {job.id: job for job in await _fitting(queue, page, name)}
        at += _PAGE
    return Selection(list(found.values())[:MOST], min(at, total), total)


async def _of_failure(queue: Queue, name: str | None, failure: str) -> Selection:
    groups = await queue.failures()
    looked_at = sum(group.count for group in groups)
    group = next((group for group in groups if group.id == failure), None)
    if group is None:
        return Selection([], looked_at, looked_at)
    found: list[SeenJob] = []
    for first in range(0, group.count, _PAGE):
        found += await _fitting(queue, group.job_ids[first : first + _PAGE], name)
    # One that finished later has failed again, perhaps with another error.
    return Selection([job for job in found if not is_later(job, group.last)], looked_at, looked_at)


def is_later(job: SeenJob, moment: int | None) -> bool:
    """Tell whether a job has not finished, or later than at a moment."""
    return not job.finished_on.isdigit() or moment is None or int(job.finished_on) > moment


async def _fitting(queue: Queue, ids: Sequence[str], pattern: str | None) -> list[SeenJob]:
    if pattern is not None:
        names = await run_async(_names(queue, ids))
        ids = [id for id, name in zip(ids, names, strict=True) if fnmatchcase(name, pattern)]
    return await run_async(seen_jobs(queue.core, ids)) if ids else []


async def _names(queue: Queue, ids: Sequence[str]) -> list[str]:
    """Return the names of jobs; "" for one that was removed meanwhile."""
    return [(name or b"").decode(errors="replace") for (name,) in await reply(queue.core.job_fields(ids, ["name"]))]
