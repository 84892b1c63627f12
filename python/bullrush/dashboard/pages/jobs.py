"""``/q/NAME``: what holds the queue up, and its jobs by state."""

from __future__ import annotations

import asyncio
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from bullrush.aio import Job, Queue
from bullrush.dashboard.answer import Answer, Asked, demand_known
from bullrush.dashboard.bulk import RIGHTS, STATES
from bullrush.dashboard.commands import command
from bullrush.dashboard.pages.failures import ELSEWHERE
from bullrush.dashboard.pages.limits import limits
from bullrush.dashboard.pages.reading import read
from bullrush.dashboard.refusal import RefusalError
from bullrush.extending import FINISHED, VERBS, CoreQueue, registered_routes, reply, run_async
from bullrush.inspection import count_workers, due_work

#: Those that somebody looks for first come first.
TABS: Final = ("active", "waiting", "prioritized", "delayed", "waiting-children", "failed", "completed")
_PAGE: Final = 50
#: So many names are read for one page of a filter, and so many in a round trip.
_MOST_READ: Final = 10_000
_READ: Final = 1_000


class Found(NamedTuple):
    """Some jobs of a state.

    Attributes:
        jobs: the jobs.
        looked_at: how many were looked at, this page and those before.
        total: how many there are.
        following: where the next page begins; None at the end.
    """

    jobs: list[Job]
    looked_at: int
    total: int
    following: int | None


async def jobs(asked: Asked) -> Answer:
    """Return the page."""
    queue = asked.queue
    await demand_known(queue)
    counts, work, workers, schedulers, routes = await asyncio.gather(
        queue.get_job_counts(),
        run_async(due_work(queue.core)),
        run_async(count_workers(queue, [queue.name])),
        queue.get_job_schedulers_count(),
        run_async(registered_routes(queue)),
    )
    # The jobs of a paused queue are in another list, but they wait all the same.
    counts["waiting"] += counts.pop("paused")
    connected = workers[queue.name]
    state = asked.query("state") or next((state for state in TABS if counts[state]), "waiting")
    if state not in TABS:
        raise RefusalError(404, f"There is no state {state!r}; there are {', '.join(TABS)}.")
    found = await _find(asked, state, counts[state])
    may = await asked.viewer.rights(queue.name)
    verb = "resume" if work.paused else "pause"
    content = {
        "queue": queue.name,
        "paused": work.paused,
        "limits": limits(work, connected),
        "counts": counts,
        "workers": connected,
        "schedulers": schedulers,
        "routes": len(routes),
        "recorded": asked.source.memory is not None,
        "state": state,
        "filter": {"name": asked.query("name"), "failure": asked.query("failure")},
        "start": asked.position("from"),
        "next": found.following,
        "looked_at": found.looked_at,
        "total": found.total,
        "jobs": [await _row(asked, job, may_see_data="data" in may) for job in found.jobs],
        "may": may,
        "bulk": [verb for verb in VERBS if state in STATES[verb] and RIGHTS[verb] in may],
        "commands": {verb: command([verb], [queue.name], asked.source.prefix)},
    }
    return Answer("jobs.html", queue.name, content, chosen={"state": state})


async def _find(asked: Asked, state: str, total: int) -> Found:
    start, failure, name = asked.position("from"), asked.query("failure"), asked.query("name")
    if failure is not None and state == "failed":
        return await _of_failure(asked, failure, name, start)
    if name is not None:
        return await _named(asked.queue, state, name, start, total)
    page = await asked.queue.get_jobs(state, start, start + _PAGE - 1, asc=state not in FINISHED)
    end = start + _PAGE
    return Found(page[:_PAGE], min(end, total), total, end if end < total else None)


async def _of_failure(asked: Asked, failure: str, name: str | None, start: int) -> Found:
    """Return jobs of a group of failures."""
    await asked.viewer.demand("data", asked.queue_name)
    groups = await asked.queue.failures()
    ids = next((group.job_ids for group in groups if group.id == failure), [])
    read = await asyncio.gather(*(asked.queue.get_job(job_id) for job_id in ids[start : start + _PAGE]))
    fitting = [job for job in read if job is not None and (name is None or fnmatchcase(job.name, name))]
    end = start + _PAGE
    return Found(fitting, min(end, len(ids)), len(ids), end if end < len(ids) else None)


async def _named(queue: Queue, state: str, pattern: str, start: int, total: int) -> Found:
    """Return jobs whose names are like a pattern. Only names are read, until a page is full or enough was read."""
    ids: list[str] = []
    at = start
    while at < total and at - start < _MOST_READ:
        page = await queue.get_ranges(state, at, at + _READ - 1, asc=state not in FINISHED)
        for number, name in enumerate(await run_async(_names(queue.core, page)), at + 1):
            if fnmatchcase(name, pattern):
                ids.append(page[number - at - 1])
            if len(ids) == _PAGE:
                return await _read(queue, ids, number, total)
        at += _READ
    return await _read(queue, ids, min(at, total), total)


async def _read(queue: Queue, ids: list[str], looked_at: int, total: int) -> Found:
    read = await asyncio.gather(*(queue.get_job(job_id) for job_id in ids))
    jobs = [job for job in read if job is not None]
    return Found(jobs, looked_at, total, looked_at if looked_at < total else None)


async def _names(core: CoreQueue, ids: list[str]) -> list[str]:
    """Return the names of jobs; "" for one that was removed meanwhile."""
    fields = await reply(core.job_fields(ids, ["name"]))
    return [(name or b"").decode(errors="replace") for (name,) in fields]


async def _row(asked: Asked, job: Job, *, may_see_data: bool) -> dict[str, Any]:
    found = read(job)
    veil = asked.masks.veil(found.data, found.result)
    reason = (job.failed_reason or None) if may_see_data else None
    if reason is not None and not await asked.viewer.names_only_seen(reason):
        reason = ELSEWHERE
    return {
        "id": job.id,
        "name": veil.text(job.name),
        "added": job.timestamp,
        "started": job.processed_on,
        "finished": job.finished_on,
        "delay": job.delay,
        "priority": job.priority,
        "attempts": job.attempts_made,
        "worker": job.processed_by,
        "reason": None if reason is None else veil.text(reason),
    }
