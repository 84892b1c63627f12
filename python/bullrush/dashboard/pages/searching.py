"""Jobs of a state that fit a filter, as the viewer may see them."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

from bullrush.aio import Job
from bullrush.dashboard.answer import Asked
from bullrush.dashboard.filtering import fitting, jobs_with, of_seen_queues, sift
from bullrush.dashboard.rendering import is_polled
from bullrush.extending import FINISHED
from bullrush.inspection import Where

#: So many jobs are on a page.
PAGE: Final = 50


class Found(NamedTuple):
    """Some jobs of a state.

    Attributes:
        jobs: the jobs.
        looked_at: how many were looked at, this page and those before.
        total: how many there are.
        following: where the next page begins; None at the end.
        search: how far the search is, if there is one.
    """

    jobs: list[Job]
    looked_at: int
    total: int
    following: int | None = None
    search: dict[str, Any] | None = None


async def searched(asked: Asked, state: str, where: Where) -> Found:
    """Return what a search of a state has found until now; it goes on while somebody looks."""
    name = (asked.queue_name, state, where.text)
    search = asked.source.searches.of(name, asked.queue, state, where, partial(sift, asked, where))
    goes_on = asked.query("only") != "newest"
    await search.look(anew=not is_polled(asked.request), goes_on=goes_on)
    # What is said is of one moment: the search goes on while the jobs are read.
    ids, looked_at, total = list(search.job_ids), search.looked_at, search.total
    progress = {
        "ended": search.has_ended,
        "full": search.is_full,
        "too_large": search.too_large,
        "only": asked.query("only"),
        "goes_on": goes_on and not search.has_ended,
    }
    if where.needs_errors:
        ids = await of_seen_queues(asked, ids)
    start = asked.position("from")
    end = start + PAGE
    jobs = await jobs_with(asked, ids[start:end])
    if state in FINISHED:
        jobs = [job for job in jobs if job.finished_on is not None]  # the others run again
    return Found(jobs, looked_at, total, end if end < len(ids) else None, {"found": len(ids), **progress})


async def of_failure(asked: Asked, failure: str, where: Where | None) -> Found:
    """Return jobs of a group of failures."""
    await asked.viewer.demand("data", asked.queue_name)
    groups = await asked.queue.failures()
    ids = next((group.job_ids for group in groups if group.id == failure), [])
    start = asked.position("from")
    end = start + PAGE
    page = ids[start:end]
    if where is not None:
        page = await fitting(asked, page, where)
    return Found(await jobs_with(asked, page), min(end, len(ids)), len(ids), end if end < len(ids) else None)
