"""``/q/NAME/jobs/ID``: why a job does not run or what happened to it, and all that is known of it."""

from __future__ import annotations

import asyncio
from typing import Any, Final, NoReturn

from bullrush.aio import Job
from bullrush.dashboard.answer import Answer, Asked
from bullrush.dashboard.commands import command
from bullrush.dashboard.pages.failures import ELSEWHERE
from bullrush.dashboard.pages.family import family
from bullrush.dashboard.pages.history import shown_name, shown_reason
from bullrush.dashboard.pages.life import life
from bullrush.dashboard.reading import ReadJob, read
from bullrush.dashboard.refusal import RefusalError
from bullrush.extending import Veil
from bullrush.inspection import readable_trace

_LAST_LOGS: Final = 100
#: Sentences that quote the text of an error.
_QUOTING: Final = frozenset({"failed", "backoff"})
#: How a job that is gone has ended; behind it stands when.
_ENDS: Final = {"completed": "It completed", "failed": "It failed for good", "removed": "It was removed"}
_UNREADABLE: Final = "The data or the options of this job are no JSON."


async def job(asked: Asked) -> Answer:
    """Return the page."""
    queue, job_id = asked.queue, asked.parts["id"] or asked.query("id") or ""
    why, found = await asyncio.gather(queue.why(job_id), queue.get_job(job_id))
    if found is None:
        return await _gone(asked, job_id) or _not_found(why.sentence)
    may = await asked.viewer.rights(queue.name)
    content: dict[str, Any] = {
        "queue": queue.name,
        "id": job_id,
        "state": why.state,
        "reasons": list(why.reasons),
        "position": why.position,
        "may": may,
        "barred": asked.viewer.barred,
        "commands": {
            verb: command(["jobs", verb, *options], [queue.name, job_id], asked.source.prefix)
            for verb, options in (
                ("retry", ["--state", "completed"] if why.state == "completed" else []),
                ("promote", []),
                ("remove", ["--keep-children"]),
                ("cancel", []),
            )
        },
    }
    known = read(found)
    veil = asked.masks.veil(known.data, known.result, found.progress)
    content |= _fields(found, veil)
    relatives = await family(asked, found)
    content |= relatives

    async def children_of(queue: str, job_id: str) -> list[tuple[str, str]]:
        if (queue, job_id) == (asked.queue_name, found.id):
            return _named(relatives)
        child = await asked.source.queue(queue).get_job(job_id)
        return [] if child is None else _named(await family(asked, child))

    content["life"] = await life(asked, job_id, found.processed_on, children_of)
    sentence = why.sentence
    if why.state == "waiting-children" and not await asked.viewer.names_only_seen(sentence):
        sentence = "It waits for children, of which some are in queues that you may not see."
    if "data" in may:
        content |= await _values(asked, known, veil)
    elif _QUOTING.intersection(why.reasons):
        sentence = f"It is {why.state}, after an attempt failed. You have no right to see the error."
    # What is hidden or cannot be read is refused by the forms.
    content["editable"] = {"edit", "data"} <= set(may) and not known.broken and content["data"] == known.data
    content["copyable"] = content["editable"] and content["name"] == found.name
    content["sentence"] = await _text_as_seen(asked, veil, sentence)
    return Answer("job.html", f"{queue.name} {job_id}", content)


def _not_found(sentence: str) -> NoReturn:
    raise RefusalError(404, sentence)


async def _gone(asked: Asked, job_id: str) -> Answer | None:
    """Return the page of a job that is in the history and no more in Redis; None if it is in neither."""
    memory, queue = asked.source.memory, asked.queue_name
    found = None if memory is None else await memory.ask(lambda history: history.find(queue, job_id=job_id, limit=1))
    if not found:
        return None
    (job,) = found
    past = await life(asked, job_id, heard=job.at)
    if past is None:
        return None
    may = await asked.viewer.rights(queue)
    content = {
        "queue": queue,
        "id": job_id,
        "state": "gone",
        "name": shown_name(asked, job),
        "sentence": f"This job is gone. {_ENDS.get(job.outcome or '', 'Its end was not seen; it was last heard of')}",
        "outcome": job.outcome,
        "at": job.at,
        "life": past,
        **(await shown_reason(asked, job) if "data" in may else {}),
    }
    return Answer("gone.html", f"{queue} {job_id}", content)


def _named(relatives: dict[str, Any]) -> list[tuple[str, str]]:
    return [(child["queue"], child["id"]) for child in relatives["children"]["shown"]]


async def _text_as_seen(asked: Asked, veil: Veil, text: str) -> str:
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
        "reason": None if reason is None else await _text_as_seen(asked, veil, reason),
        # The newest first. Other programs may have put anything there.
        "errors": [
            await _text_as_seen(asked, veil, readable_trace(text))
            for text in reversed(found.stacktrace)
            if isinstance(text, str)
        ],
        "log": {"rows": [veil.text(row) for row in logs["logs"]], "count": logs["count"]},
    }
