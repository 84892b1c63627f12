"""The filter that somebody has written, and which jobs fit it, as the viewer may see them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final

import orjson

from bullrush.aio import Job
from bullrush.dashboard.answer import Asked
from bullrush.dashboard.reading import read
from bullrush.dashboard.refusal import RefusalError
from bullrush.extending import reply, run_async
from bullrush.inspection import Where

#: What of a job may be hidden.
_SHOWN: Final = frozenset({"name", "failedReason", "data"})


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
    found = await sift(asked, where, await run_async(_matching(asked, ids, where)))
    return await of_seen_queues(asked, found) if where.needs_errors else found


async def _matching(asked: Asked, ids: list[str], where: Where) -> list[str]:
    return await reply(asked.queue.core.matching(ids, where.conditions))


async def sift(asked: Asked, where: Where, ids: list[str]) -> list[str]:
    """Return the jobs that fit as they are shown: what is hidden is not found, either."""
    if not asked.masks.veil().needed or where.fields.isdisjoint(_SHOWN):
        return ids
    return [job.id for job in await jobs_with(asked, ids) if _fits_as_shown(asked, where, job)]


def _fits_as_shown(asked: Asked, where: Where, job: Job) -> bool:
    found = read(job)
    veil = asked.masks.veil(found.data, found.result)
    shown: dict[str, Callable[[], bytes]] = {
        "name": lambda: veil.text(job.name).encode(),
        "failedReason": lambda: veil.text(job.failed_reason or "").encode(),
        "data": lambda: orjson.dumps(veil.value(found.data)),
    }
    return where.fits({field: shown[field]() for field in where.fields & _SHOWN})


async def of_seen_queues(asked: Asked, ids: list[str]) -> list[str]:
    """Return the jobs whose errors name only queues that the viewer may see: the texts of others are not shown."""
    reasons = [(reason or b"").decode(errors="replace") for (reason,) in await run_async(_reasons(asked, ids))]
    seen = [await asked.viewer.names_only_seen(reason) for reason in reasons]
    return [job_id for job_id, is_seen in zip(ids, seen, strict=True) if is_seen]


async def _reasons(asked: Asked, ids: list[str]) -> Any:
    return await reply(asked.queue.core.job_fields(ids, ["failedReason"]))


async def jobs_with(asked: Asked, ids: Iterable[str]) -> list[Job]:
    """Return the jobs with these ids that are still there."""
    found = await asyncio.gather(*(asked.queue.get_job(job_id) for job_id in ids))
    return [job for job in found if job is not None]
