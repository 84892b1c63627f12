"""``/schedulers``: what comes next over all queues, and how the last run ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from bullrush.aio import Queue
from bullrush.dashboard.answer import Answer, Asked
from bullrush.dashboard.commands import command
from bullrush.dashboard.pages.all.queues import readable
from bullrush.dashboard.pages.schedulers import why_and_advice
from bullrush.errors import MalformedJobError, RedisServerError
from bullrush.extending import Handle, now_ms, reply, run_async
from bullrush.inspection import coming_runs, job_due, latest_job, run_before, stopped
from bullrush.recorder import History

#: So many are shown, those that are due first, and at most so many of a queue.
_MOST: Final = 200
_OF_A_QUEUE: Final = 50
#: So many of the next runs of each.
_RUNS: Final = 3
_FIELDS: Final = ("opts", "finishedOn", "processedOn", "returnvalue")


class _Found(NamedTuple):
    """A scheduler, its last run, and why it makes no more jobs if it does not."""

    queue: Queue
    scheduler: Any
    last: dict[str, Any]
    stopped: str | None


async def all_schedulers(asked: Asked) -> Answer:
    """Return the page. Data of the jobs are left out: a job has them."""
    queues = await readable(asked, "view")
    counts = await run_async(_counts(queues)) if queues else []
    having = [(queue, count) for queue, count in zip(queues, counts, strict=True) if count]
    parts = await asyncio.gather(*(_of_queue(queue) for queue, _ in having))
    found = sorted((one for part in parts for one in part), key=lambda one: one.scheduler["next"])[:_MOST]
    content = {
        "schedulers": await asyncio.gather(*(_shown(asked, one) for one in found)),
        "count": sum(count for _, count in having),
    }
    return Answer("all_schedulers.html", "Schedulers", content)


async def _counts(queues: Sequence[Handle]) -> list[int]:
    # All of them are asked before the first answer is waited for.
    asked = [queue.core.count_schedulers() for queue in queues]
    return [await _count(pending) for pending in asked]


async def _count(pending: Any) -> int:
    try:
        return int(await reply(pending))
    except RedisServerError:
        return 0


async def _of_queue(queue: Queue) -> list[_Found]:
    try:
        found = await queue.get_job_schedulers(0, _OF_A_QUEUE - 1, asc=True)
        lasts = await run_async(_last_runs(queue, found))
        broken = await run_async(stopped(queue.core, found, now_ms()))
    except (RedisServerError, MalformedJobError):
        return []
    why = [why_and_advice(broken.get(one["key"])) for one in found]
    return [_Found(queue, *known) for known in zip(found, lasts, why, strict=True)]


async def _last_runs(handle: Handle, schedulers: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the last job of each scheduler that has begun, and how it ended."""
    latest = [latest_job(one) for one in schedulers]
    before = [None if (due := run_before(one)) is None else job_due(one, due) for one in schedulers]
    ids = [*latest, *(id for id in before if id is not None)]
    found = dict(zip(ids, await reply(handle.core.job_fields(ids, _FIELDS)), strict=True)) if ids else {}
    begun = [id if _outcome(found[id]) != "waits" else other for id, other in zip(latest, before, strict=True)]
    return [{"id": id, "outcome": None if id is None else _outcome(found[id])} for id in begun]


def _outcome(fields: Sequence[bytes | None]) -> str | None:
    """Return how a job ended, or what it does; None if it is gone."""
    opts, finished, started, result = fields
    if opts is None:
        return None
    if finished is None:
        return "waits" if started is None else "runs"
    return "failed" if result is None else "completed"


async def _shown(asked: Asked, found: _Found) -> dict[str, Any]:
    queue, one, last, stopped = found
    now = now_ms()
    memory, job_id = asked.source.memory, last["id"]
    if last["outcome"] is None and job_id is not None and memory is not None:
        remembered = await memory.ask(partial(_remembered, queue.name, job_id))
        last = {**last, "outcome": remembered}
    latest = latest_job(one)
    return {
        "queue": queue.name,
        "id": one["key"],
        "name": asked.masks.hide(one.get("name") or ""),
        "pattern": one.get("pattern"),
        "every": one.get("every"),
        "time_zone": one.get("tz"),
        "made": one.get("iteration_count"),
        "next": [] if stopped else coming_runs(one, now, _RUNS),
        "stopped": stopped,
        "last": last,
        "latest": latest,
        "may_run": one["next"] > now and not stopped and await asked.viewer.may("run", queue.name),
        "command": command(["jobs", "promote"], [queue.name, latest], asked.source.prefix),
    }


def _remembered(queue: str, job_id: str, history: History) -> str | None:
    found = history.find(queue, job_id=job_id, limit=1)
    return found[0].outcome if found else None
