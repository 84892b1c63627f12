"""``/q/NAME/history``: the jobs that a recorder has seen, also those that are gone."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from bullrush.dashboard.answer import Answer, Asked, demand_known
from bullrush.dashboard.commands import command
from bullrush.dashboard.pages.failures import ELSEWHERE
from bullrush.dashboard.refusal import RefusalError
from bullrush.extending import HIDDEN
from bullrush.recorder import History, Remembered, RememberedJob

#: So many jobs are shown at first, and when somebody asks for more.
_SHOWN: Final = 100
_MOST: Final = 2_000
#: How a job may have ended; a job that is in none of these goes on, or its end was not seen.
OUTCOMES: Final = ("completed", "failed", "removed", "retried", "stalled", "waiting-children")


async def history(asked: Asked) -> Answer:
    """Return the page."""
    memory, queue = asked.source.memory, asked.queue_name
    asked_for = {name: asked.query(name) for name in ("id", "name", "outcome", "reason")}
    may = await asked.viewer.rights(queue)
    if asked_for["outcome"] not in (None, *OUTCOMES):
        raise RefusalError(404, f"There is no outcome {asked_for['outcome']!r}; there are {', '.join(OUTCOMES)}.")
    if asked_for["reason"] is not None:
        await asked.viewer.demand("data", queue)
        if asked.masks.veil().needed:
            raise RefusalError(403, "Reasons may quote masked fields, so nobody can search for them here.")
    most = min(max(asked.position("most"), _SHOWN), _MOST)
    known = None if memory is None else await memory.ask(lambda found: found.remembered(queue))
    if known is None:
        await demand_known(asked.queue)
    found = [] if memory is None or known is None else await memory.ask(partial(_find, queue, asked_for, most)) or []
    content = {
        "queue": queue,
        "may": may,
        "file": None if memory is None else memory.file.name,
        "trouble": None if memory is None else memory.trouble,
        "remembered": None if known is None else _known(known),
        "filter": asked_for,
        "jobs": [await _row(asked, job, may_see_data="data" in may) for job in found[:most]],
        "more": len(found) > most,
        "most": _MOST,
        "outcomes": list(OUTCOMES),
        "masked": asked.masks.veil().needed,
        "command": None if memory is None else command(["history", "--file", memory.file.name], [queue], "bull"),
    }
    return Answer("history.html", f"{queue}: history", content)


def _find(queue: str, asked_for: dict[str, Any], most: int, history: History) -> list[RememberedJob]:
    return history.find(
        queue,
        job_id=asked_for["id"],
        name=asked_for["name"],
        outcome=asked_for["outcome"],
        reason=asked_for["reason"],
        limit=most + 1,
    )


def _known(known: Remembered) -> dict[str, Any]:
    return {
        "since": known.since,
        "until": known.until,
        "successes_since": known.successes_since,
        "gaps": len(known.gaps),
        "last_gap": list(known.gaps[-1]) if known.gaps else None,
        "share": known.share,
    }


async def _row(asked: Asked, job: RememberedJob, *, may_see_data: bool) -> dict[str, Any]:
    return {
        "id": job.job_id,
        "name": shown_name(asked, job),
        "attempts": job.number,
        "outcome": job.outcome,
        "at": job.at,
        **(await shown_reason(asked, job) if may_see_data else {}),
    }


def shown_name(asked: Asked, job: RememberedJob) -> str | None:
    """Return the name of a job that may be gone: without its data nobody knows whether it quotes a masked field."""
    return HIDDEN if job.name is not None and asked.masks.veil().needed else job.name


async def shown_reason(asked: Asked, job: RememberedJob) -> dict[str, str | None]:
    """Return why a job failed, as who may see data may see it.

    The text is that of the first failure of its kind: it may quote the data of another job.
    """
    text = job.reason
    if text is not None and asked.masks.veil().needed:
        text = HIDDEN
    elif text is not None and not await asked.viewer.names_only_seen(text):
        text = ELSEWHERE
    return {"reason": text, "fingerprint": job.fingerprint}
