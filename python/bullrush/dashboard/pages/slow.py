"""``/q/NAME/slow``: what takes long, now and lately."""

from __future__ import annotations

from typing import Any, Final

from bullrush.dashboard.answer import Answer, Asked, demand_known
from bullrush.dashboard.reading import read
from bullrush.extending import HIDDEN, now_ms
from bullrush.recorder import History, Remembered, SlowName

#: So many jobs that run are looked at, those that were taken first.
_LOOKED_AT: Final = 500
#: So many of them, and so many attempts that have ended, are shown.
_SHOWN: Final = 10
_NAMES: Final = 50


async def slow(asked: Asked) -> Answer:
    """Return the page."""
    memory, queue = asked.source.memory, asked.queue_name
    known = None if memory is None else await memory.ask(lambda history: _ask(history, queue))
    if known is None:
        await demand_known(asked.queue)
    remembered, names = known or (None, [])
    running = await asked.queue.get_active(0, _LOOKED_AT - 1)
    begun = [job for job in running if job.processed_on is not None]
    begun.sort(key=lambda job: job.processed_on or 0)
    ended = sorted((one for name in names for one in name.slowest), reverse=True)[:_SHOWN]
    named = {one.job_id: name.name for name in names for one in name.slowest}
    content = {
        "queue": queue,
        "may": await asked.viewer.rights(queue),
        "running": [
            {
                "id": job.id,
                "name": asked.masks.veil((found := read(job)).data, found.result).text(job.name),
                "started": job.processed_on,
                "for": max(0, now_ms() - (job.processed_on or 0)),
                "worker": job.processed_by,
            }
            for job in begun[:_SHOWN]
        ],
        "file": None if memory is None else memory.file.name,
        "trouble": None if memory is None else memory.trouble,
        "since": None if remembered is None else remembered.successes_since,
        "attempts": sum(name.count for name in names),
        "names": [_row(asked, name) for name in names[:_NAMES]],
        "more_names": max(0, len(names) - _NAMES),
        "slowest": [{**one._asdict(), "id": one.job_id, "name": _name(asked, named[one.job_id])} for one in ended],
    }
    return Answer("slow.html", f"{queue}: slow", content)


def _ask(history: History, queue: str) -> tuple[Remembered, list[SlowName]] | None:
    remembered = history.remembered(queue)
    return None if remembered is None else (remembered, history.slowest(queue, _SHOWN))


def _row(asked: Asked, one: SlowName) -> dict[str, Any]:
    most = one.slowest[0].took
    return {"name": _name(asked, one.name), "count": one.count, "p50": one.p50, "p95": one.p95, "most": most}


def _name(asked: Asked, name: str | None) -> str | None:
    """Return the name of a job that may be gone: without its data nobody knows whether it quotes a masked field."""
    return HIDDEN if name is not None and asked.masks.needed else name
