"""``/q/NAME``: what holds the queue up, and its jobs by state."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from bullrush.aio import Job
from bullrush.dashboard.answer import Answer, Asked, demand_known
from bullrush.dashboard.bulk import RIGHTS, STATES
from bullrush.dashboard.commands import command
from bullrush.dashboard.filtering import asked_where
from bullrush.dashboard.pages.attention import sentences_of_queue
from bullrush.dashboard.pages.failures import ELSEWHERE
from bullrush.dashboard.pages.limits import limits
from bullrush.dashboard.pages.line import line_of
from bullrush.dashboard.pages.routes import route_of, some_unserved, unserved_routes
from bullrush.dashboard.pages.searching import PAGE, Found, of_failure, searched
from bullrush.dashboard.reading import read
from bullrush.dashboard.refusal import RefusalError
from bullrush.errors import InvalidOptionError
from bullrush.extending import FINISHED, VERBS, run_async
from bullrush.inspection import Where, count_states

#: Those that somebody looks for first come first.
TABS: Final = ("active", "waiting", "prioritized", "delayed", "waiting-children", "failed", "completed")
#: So many routes without a worker have a sentence; the page of the routes has all.
_UNSERVED: Final = 5


async def jobs(asked: Asked) -> Answer:
    """Return the page."""
    queue = asked.queue
    await demand_known(queue)
    counts, line, schedulers, routes, route = await asyncio.gather(
        run_async(count_states(queue, TABS)),
        line_of(asked.source, queue),
        queue.get_job_schedulers_count(),
        # Somebody may wait for the end of what they say.
        asked.source.routes.value(queue, unless=some_unserved),
        route_of(asked),
    )
    work = line.work
    unserved = await unserved_routes(asked, routes)
    state = asked.query("state") or next((state for state in TABS if counts[state]), "waiting")
    if state not in TABS:
        raise RefusalError(404, f"There is no state {state!r}; there are {', '.join(TABS)}.")
    trouble = None
    where = None
    try:
        where = await asked_where(asked, asked.query("where"))
        found = await _find(asked, state, counts[state], where)
    except InvalidOptionError as error:
        found, trouble = Found([], 0, counts[state]), str(error)
    may = await asked.viewer.rights(queue.name)
    verb = "resume" if work.paused else "pause"
    content = {
        "queue": queue.name,
        "paused": work.paused,
        "attention": [sentence.content() for sentence in await sentences_of_queue(asked, line)],
        "route": route,
        "unserved": unserved[:_UNSERVED],
        "more_unserved": max(0, len(unserved) - _UNSERVED),
        "limits": limits(queue.name, line.found, line.workers),
        "counts": counts,
        "workers": line.workers,
        "schedulers": schedulers,
        "routes": len(routes.names),
        "recorded": asked.source.memory is not None,
        "state": state,
        "filter": {"where": asked.query("where"), "failure": asked.query("failure")},
        "meant": None if where is None or where.meant == where.text else where.meant,
        "trouble": trouble,
        "search": found.search,
        "start": asked.position("from"),
        "next": found.following,
        "looked_at": found.looked_at,
        "total": found.total,
        "jobs": [await _row(asked, job, may_see_data="data" in may) for job in found.jobs],
        "may": may,
        "barred": asked.viewer.barred,
        "bulk": [] if trouble else [verb for verb in VERBS if state in STATES[verb] and RIGHTS[verb] in may],
        "commands": {
            verb: command([verb], [queue.name], asked.source.prefix),
            "list": _listing(asked, state),
        },
    }
    return Answer("jobs.html", queue.name, content, 400 if trouble else 200, chosen={"state": state})


async def _find(asked: Asked, state: str, total: int, where: Where | None) -> Found:
    failure = asked.query("failure")
    if failure is not None and state == "failed":
        return await of_failure(asked, failure, where)
    if where is not None:
        return await searched(asked, state, where)
    start = asked.position("from")
    page = await asked.queue.get_jobs(state, start, start + PAGE - 1, asc=state not in FINISHED)
    end = start + PAGE
    return Found(page[:PAGE], min(end, total), total, end if end < total else None)


def _listing(asked: Asked, state: str) -> str:
    """Return the command that lists the same jobs."""
    given = {"--where": asked.query("where"), "--failure": asked.query("failure")}
    options = [word for name, value in given.items() if value is not None for word in (f"{name}={value}",)]
    return command(["jobs", "list", "--state", state, *options], [asked.queue_name], asked.source.prefix)


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
