"""``/q/NAME/jobs/ID``: why a job does not run or what happened to it, and all that is known of it."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from bullrush.aio import Job
from bullrush.dashboard.answer import Answer, Asked
from bullrush.dashboard.commands import command
from bullrush.dashboard.pages.failures import ELSEWHERE
from bullrush.dashboard.pages.reading import ReadJob, read
from bullrush.dashboard.refusal import RefusalError
from bullrush.errors import MalformedJobError
from bullrush.extending import JSON, Veil
from bullrush.inspection import readable_trace
from bullrush.job import Cursor

_LAST_LOGS: Final = 100
_CHILDREN: Final = 20
_KINDS: Final = ("processed", "unprocessed", "ignored", "failed")
#: Sentences that quote the text of an error.
_QUOTING: Final = frozenset({"failed", "backoff"})
_UNREADABLE: Final = "The data or the options of this job are no JSON."


async def job(asked: Asked) -> Answer:
    """Return the page."""
    queue, job_id = asked.queue, asked.parts["id"] or asked.query("id") or ""
    why, found = await asyncio.gather(queue.why(job_id), queue.get_job(job_id))
    if found is None:
        raise RefusalError(404, why.sentence)
    may = await asked.viewer.rights(queue.name)
    content: dict[str, Any] = {
        "queue": queue.name,
        "id": job_id,
        "state": why.state,
        "reasons": list(why.reasons),
        "position": why.position,
        "may": may,
        "commands": {
            verb: command(
                ["jobs", verb, *(["--keep-children"] * (verb == "remove"))], [queue.name, job_id], asked.source.prefix
            )
            for verb in ("retry", "promote", "remove")
        },
    }
    known = read(found)
    veil = asked.masks.veil(known.data, known.result, found.progress)
    content |= _fields(found, veil)
    content |= await _family(asked, found)
    sentence = why.sentence
    if why.state == "waiting-children" and not await asked.viewer.names_only_seen(sentence):
        sentence = "It waits for children, of which some are in queues that you may not see."
    if "data" in may:
        content |= await _values(asked, known, veil)
    elif _QUOTING.intersection(why.reasons):
        sentence = f"It is {why.state}, after an attempt failed. You have no right to see the error."
    content["sentence"] = await _told(asked, veil, sentence)
    return Answer("job.html", f"{queue.name} {job_id}", content)


async def _told(asked: Asked, veil: Veil, text: str) -> str:
    """Return a text that bullrush or BullMQ wrote, as the viewer may see it."""
    return veil.text(text) if await asked.viewer.names_only_seen(text) else f"It is about {ELSEWHERE[3:]}."


def _fields(found: Job, veil: Veil) -> dict[str, Any]:
    return {
        "name": veil.text(found.name),
        "added": found.timestamp,
        "started": found.processed_on,
        "finished": found.finished_on,
        "delay": found.delay,
        "priority": found.priority,
        "attempts_made": found.attempts_made,
        "attempts_started": found.attempts_started,
        "stalled": found.stalled_counter,
        "worker": found.processed_by,
        "scheduler": found.repeat_job_key,
    }


async def _values(asked: Asked, known: ReadJob, veil: Veil) -> dict[str, Any]:
    """Return what only a viewer with the right `data` sees."""
    found = known.job
    logs = await asked.queue.get_job_logs(found.id, -_LAST_LOGS, -1)
    reason = found.failed_reason
    options = dict(known.options or {})
    # It names a job of another queue; the family shows it if the viewer may see it.
    options.pop("parent", None)
    return {
        # The error quotes what it could not read.
        "broken": _UNREADABLE if veil.needed and known.broken else " ".join(known.broken),
        "data": veil.value(known.data),
        "result": veil.value(found.returnvalue),
        "progress": veil.value(found.progress),
        "options": veil.value(options),
        "deduplication": veil.text(found.deduplication_id) if found.deduplication_id else None,
        "reason": None if reason is None else await _told(asked, veil, reason),
        # The newest first. Other programs may have put anything there.
        "errors": [
            await _told(asked, veil, readable_trace(text))
            for text in reversed(found.stacktrace)
            if isinstance(text, str)
        ],
        "log": {"rows": [veil.text(row) for row in logs["logs"]], "count": logs["count"]},
    }


async def _family(asked: Asked, found: Job) -> dict[str, Any]:
    """Return the parent and some children; of a queue that the viewer may not see nothing but that there are some."""
    counts = await found.get_dependencies_count()
    total = sum(counts.get(kind, 0) for kind in _KINDS)  # type: ignore[misc]
    keys: list[tuple[str, str]] = []
    if total:
        page: Cursor = {"count": _CHILDREN}
        try:
            some = await found.get_dependencies(processed=page, unprocessed=page, ignored=page, failed=page)
        except MalformedJobError:
            some = {}
        keys = [
            *((key, "completed") for key in some.get("processed", ())),
            *((key, "unfinished") for key in some.get("unprocessed", ())),
            *((key, "failed, ignored") for key in some.get("ignored", ())),
            *((key, "failed") for key in some.get("failed", ())),
        ][:_CHILDREN]
    children = [{**relative, "outcome": outcome} for key, outcome in keys if (relative := await _relative(asked, key))]
    parent = found.parent_key and await _relative(asked, found.parent_key)
    return {
        "parent": parent,
        "children": {"count": total, "shown": children, "hidden": len(keys) - len(children)},
    }


async def _relative(asked: Asked, key: str) -> dict[str, JSON] | None:
    """Return the queue and the id of a job by its key; None for one that the viewer may not see."""
    start = f"{asked.source.prefix}:"
    queue, _, job_id = key.removeprefix(start).partition(":")
    if not key.startswith(start) or not job_id or not await asked.viewer.may("view", queue):
        return None
    return {"queue": queue, "id": job_id}
