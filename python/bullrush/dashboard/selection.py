"""Which jobs of a state a filter means: all of them, not only those of a page."""

from __future__ import annotations

from typing import Final, NamedTuple

from bullrush.dashboard.answer import Asked
from bullrush.dashboard.bulk import MOST
from bullrush.dashboard.filtering import fitting
from bullrush.extending import SeenJob, run_async, seen_jobs
from bullrush.inspection import Where

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


async def select(
    asked: Asked, state: str, where: Where | None, failure: str | None, *, newest_first: bool
) -> Selection:
    """Note the jobs of a state that fit, at most `MOST`.

    Args:
        asked: who asks, and for which queue.
        state: the state.
        where: what they have to fit; None is all.
        failure: the id of a group of failures; None is any.
        newest_first: jobs that came last are noted first.
    """
    queue = asked.queue
    if failure is not None:
        await asked.viewer.demand("data", asked.queue_name)
        return await _of_failure(asked, where, failure)
    counts = await queue.get_job_counts()
    total = counts["waiting"] + counts["paused"] if state == "waiting" else counts[state]
    found: dict[str, SeenJob] = {}
    at = 0
    while at < total and len(found) < MOST:
        page = await queue.get_ranges(state, at, at + _PAGE - 1, asc=not newest_first)
        # Jobs that move meanwhile may let one come twice.
        found |= {job.id: job for job in await _fitting(asked, page, where)}
        at += _PAGE
    return Selection(list(found.values())[:MOST], min(at, total), total)


async def _of_failure(asked: Asked, where: Where | None, failure: str) -> Selection:
    groups = await asked.queue.failures()
    looked_at = sum(group.count for group in groups)
    group = next((group for group in groups if group.id == failure), None)
    if group is None:
        return Selection([], looked_at, looked_at)
    found: list[SeenJob] = []
    for first in range(0, group.count, _PAGE):
        found += await _fitting(asked, group.job_ids[first : first + _PAGE], where)
    # One that finished later has failed again, perhaps with another error.
    return Selection([job for job in found if not is_later(job, group.last)], looked_at, looked_at)


def is_later(job: SeenJob, moment: int | None) -> bool:
    """Tell whether a job has not finished, or later than at a moment."""
    return not job.finished_on.isdigit() or moment is None or int(job.finished_on) > moment


async def _fitting(asked: Asked, ids: list[str], where: Where | None) -> list[SeenJob]:
    fit = ids if where is None else await fitting(asked, ids, where)
    return await run_async(seen_jobs(asked.queue.core, fit)) if fit else []
