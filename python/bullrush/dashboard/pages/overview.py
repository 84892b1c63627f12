"""``/``: what needs a human, then the queues."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from bullrush.aio import Queue
from bullrush.dashboard.answer import Answer, Asked
from bullrush.dashboard.history import Rates
from bullrush.dashboard.pages.attention import Line, sentences
from bullrush.dashboard.refusal import refused
from bullrush.errors import BullrushError, ConnectionLostError, RedisServerError
from bullrush.extending import STUCK_AFTER, now_ms, reply, run_async
from bullrush.inspection import DueWork, count_workers, due_work

#: So many queues are asked at the same time.
_GROUP: Final = 50
_HOUR: Final = 3_600_000


async def overview(asked: Asked) -> Answer:
    """Return the page."""
    names = await asked.source.names.value()
    seen = await asked.viewer.seen(names.queues)
    queues = [asked.source.queue(name) for name in seen]
    workers = await run_async(count_workers(queues[0], seen)) if queues else {}
    lines: list[Line] = []
    for first in range(0, len(queues), _GROUP):
        group = queues[first : first + _GROUP]
        lines += await asyncio.gather(*(_line(queue, workers[queue.name]) for queue in group))
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


async def _line(queue: Queue, workers: int | None) -> Line:
    """Return what the page says about a queue. One that cannot be read must not hide all others."""
    try:
        counts, work, failed = await asyncio.gather(
            queue.get_job_counts(), run_async(due_work(queue.core)), run_async(_failed_lately(queue))
        )
        # As `bullrush health`: work that seems stuck is looked at again.
        stuck = work.is_stuck(work.last_start_age, STUCK_AFTER) and "stuck" in (await queue.health()).problems
        added = await _next_added(queue) if work.paused and work.waiting else None
    except ConnectionLostError:
        raise
    except RedisServerError as error:
        return Line(queue.name, {}, DueWork(), error=refused(error))
    except BullrushError as error:
        return Line(queue.name, {}, DueWork(), error=str(error))
    return Line(queue.name, counts, work, failed, workers, stuck, added)


async def _next_added(queue: Queue) -> int | None:
    """Return how many ms ago the job was added that is next.

    Nothing is due in a paused queue, so there is no other age.
    """
    jobs = await queue.get_waiting(0, 0) or await queue.get_prioritized(0, 0)
    return now_ms() - jobs[0].timestamp if jobs and jobs[0].timestamp is not None else None


async def _failed_lately(queue: Queue) -> int:
    """Return how many of the kept jobs failed in the last hour."""
    spans: Sequence[tuple[str, int | None, int | None]] = [("failed", now_ms() - _HOUR, None)]
    (count,) = await reply(queue.core.count_finished(spans))
    return count
