"""Jobs of a state that fit a filter, as the viewer may see them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any, Final, NamedTuple

import orjson

from bullrush.aio import Job
from bullrush.dashboard.answer import Asked
from bullrush.dashboard.pages.reading import read
from bullrush.dashboard.refusal import RefusalError
from bullrush.dashboard.rendering import is_polled
from bullrush.extending import FINISHED, reply, run_async
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


async def asked_where(asked: Asked, text: str | None) -> Where | None:
    """Return the filter that somebody has written; None for none.

    Raises:
        InvalidOptionError: it cannot be read.
        RefusalError: it looks at what the viewer may not see.
    """
    if text is None or not text.strip():
        return None
    where = Where.read(text)
    if where.needs_data:
        await asked.viewer.demand("data", asked.queue_name)
    for name in sorted(where.names):
        if name.lower() in asked.masks.fields:
            raise RefusalError(403, f"The values of {name!r} are hidden here, so nobody can search for them.")
    return where


async def fitting(asked: Asked, ids: list[str], where: Where) -> list[str]:
    """Return those of some jobs that fit, and that the viewer may find."""
    found = await _sift(asked, where, await run_async(_matching(asked, ids, where)))
    return await _of_seen_queues(asked, found) if where.needs_errors else found


async def searched(asked: Asked, state: str, where: Where) -> Found:
    """Return what a search of a state has found until now; it goes on while somebody looks."""
    name = (asked.queue_name, state, where.text)
    search = asked.source.searches.of(name, asked.queue, state, where, partial(_sift, asked, where))
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
        ids = await _of_seen_queues(asked, ids)
    start = asked.position("from")
    end = start + PAGE
    jobs = await _jobs(asked, ids[start:end])
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
    return Found(await _jobs(asked, page), min(end, len(ids)), len(ids), end if end < len(ids) else None)


async def _matching(asked: Asked, ids: list[str], where: Where) -> list[str]:
    return await reply(asked.queue.core.matching(ids, where.conditions))


async def _sift(asked: Asked, where: Where, ids: list[str]) -> list[str]:
    """Return the jobs that fit as they are shown: what is hidden is not found, either."""
    if not asked.masks.veil().needed:
        return ids
    return [job.id for job in await _jobs(asked, ids) if _fits_as_shown(asked, where, job)]


def _fits_as_shown(asked: Asked, where: Where, job: Job) -> bool:
    found = read(job)
    veil = asked.masks.veil(found.data, found.result)
    texts = {"name": veil.text(job.name).encode(), "failedReason": veil.text(job.failed_reason or "").encode()}
    return where.fits({**texts, "data": orjson.dumps(veil.value(found.data))})


async def _of_seen_queues(asked: Asked, ids: list[str]) -> list[str]:
    """Return the jobs whose errors name only queues that the viewer may see: the texts of others are not shown."""
    reasons = [(reason or b"").decode(errors="replace") for (reason,) in await run_async(_reasons(asked, ids))]
    seen = [await asked.viewer.names_only_seen(reason) for reason in reasons]
    return [job_id for job_id, is_seen in zip(ids, seen, strict=True) if is_seen]


async def _reasons(asked: Asked, ids: list[str]) -> Any:
    return await reply(asked.queue.core.job_fields(ids, ["failedReason"]))


async def _jobs(asked: Asked, ids: Iterable[str]) -> list[Job]:
    read = await asyncio.gather(*(asked.queue.get_job(job_id) for job_id in ids))
    return [job for job in read if job is not None]
