"""``/``: what needs a human, then the queues."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from bullrush.aio import Queue
from bullrush.dashboard.answer import Answer, Asked
from bullrush.dashboard.history import Rates
from bullrush.dashboard.pages.attention import Line, sentences
from bullrush.dashboard.refusal import refused
from bullrush.errors import BullrushError, ConnectionLostError, RedisServerError
from bullrush.extending import STUCK_AFTER, now_ms, run_async
from bullrush.inspection import SECOND_LOOK, Overview, count_workers, overviews

#: So many paused queues are asked at the same time.
_GROUP: Final = 50
_HOUR: Final = 3_600_000


async def overview(asked: Asked) -> Answer:
    """Return the page."""
    names = await asked.source.names.value()
    seen = await asked.viewer.seen(names.queues)
    queues = [asked.source.queue(name) for name in seen]
    workers = await run_async(count_workers(queues[0], seen)) if queues else {}
    lines = await _lines(queues, workers)
    report = await asked.source.report.value()
    everything = len(seen) == len(names.queues)
    hidden = frozenset(names.queues).difference(seen)
    attention, more = await sentences(asked, lines, report, hidden)
    rates = await asked.source.rates.value()
    content = {
        "attention": attention,
        "more": more,
        "queues": [line.content() | {"rates": _content(rates.get(line.queue))} for line in lines],
        "recorded": asked.source.memory is not None,
        "searched": len(names.queues) if everything else None,
        "refused": None if names.refused is None else refused(names.refused),
        "not_checked": report.skipped if everything else [],
        "workers_known": None not in workers.values(),
    }
    return Answer("overview.html", "Queues", content)


def _content(rates: Rates | None) -> dict[str, Any] | None:
    return None if rates is None else rates.content()


async def _lines(queues: Sequence[Queue], workers: Mapping[str, int | None]) -> list[Line]:
    """Return what the page says about each queue."""
    lately = now_ms() - _HOUR
    found = await run_async(overviews(queues, lately))
    stuck = await _stuck(queues, found, lately)
    lines = []
    for first in range(0, len(queues), _GROUP):
        group = slice(first, first + _GROUP)
        asked = zip(queues[group], found[group], strict=True)
        lines += await asyncio.gather(*(_line(queue, seen, workers[queue.name], stuck) for queue, seen in asked))
    return lines


async def _stuck(queues: Sequence[Queue], found: Sequence[Overview], lately: int) -> set[str]:
    """Return the queues whose work is stuck: as `bullrush health`, by a second look."""
    seem = [
        (queue, before.work)
        for queue, before in zip(queues, found, strict=True)
        if before.work.is_stuck(before.work.last_start_age, STUCK_AFTER)
    ]
    if not seem:
        return set()
    await asyncio.sleep(SECOND_LOOK)
    again = await run_async(overviews([queue for queue, _ in seem], lately))
    looks = zip(seem, again, strict=True)
    return {queue.name for (queue, before), now in looks if now.work.is_still_stuck(before, STUCK_AFTER)}


async def _line(queue: Queue, found: Overview, workers: int | None, stuck: Collection[str]) -> Line:
    """Return what the page says about a queue. One that cannot be read must not hide all others."""
    try:
        if found.error is not None:
            await queue.get_job_counts()  # its error names the key
            return Line(queue.name, found, error=refused(found.error))
        added = await _next_added(queue) if found.work.paused and found.work.waiting else None
    except ConnectionLostError:
        raise
    except RedisServerError as error:
        return Line(queue.name, found, error=refused(error))
    except BullrushError as error:
        return Line(queue.name, found, error=str(error))
    return Line(queue.name, found, workers, queue.name in stuck, added)


async def _next_added(queue: Queue) -> int | None:
    """Return how many ms ago the job was added that is next.

    Nothing is due in a paused queue, so there is no other age.
    """
    jobs = await queue.get_waiting(0, 0) or await queue.get_prioritized(0, 0)
    return now_ms() - jobs[0].timestamp if jobs and jobs[0].timestamp is not None else None
