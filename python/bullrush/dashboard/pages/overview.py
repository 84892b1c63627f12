"""``/``: what needs a human, then the queues."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from bullrush.aio import Queue
from bullrush.dashboard.answer import Answer, Asked
from bullrush.dashboard.history import Rates
from bullrush.dashboard.pages.attention import Line, sentences
from bullrush.dashboard.refusal import refused
from bullrush.errors import BullrushError, ConnectionLostError, RedisServerError
from bullrush.extending import STUCK_AFTER, now_ms, run_async
from bullrush.inspection import SECOND_LOOK, Overview, count_workers, overviews

#: So many queues are asked for more at the same time.
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
    seen = list(zip(queues, found, strict=True))
    asked = [(queue, one) for queue, one in seen if one.error or (one.work.paused and one.work.waiting)]
    more: dict[str, _More] = {}
    for first in range(0, len(asked), _GROUP):
        group = asked[first : first + _GROUP]
        answers = await asyncio.gather(*(_more(queue, one) for queue, one in group))
        more |= {queue.name: answer for (queue, _), answer in zip(group, answers, strict=True)}
    lines = []
    for queue, one in seen:
        added, error = more.get(queue.name, _More())
        lines.append(Line(queue.name, one, workers[queue.name], queue.name in stuck, added, error))
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


class _More(NamedTuple):
    """What only some queues are asked for: when the next job of a paused one was added, why one cannot be read."""

    next_added: int | None = None
    error: str | None = None


async def _more(queue: Queue, found: Overview) -> _More:
    """Ask it. A queue that cannot be read must not hide all others."""
    try:
        if found.error is not None:
            await queue.get_job_counts()  # its error names the key
            return _More(error=refused(found.error))
        return _More(await _next_added(queue))
    except ConnectionLostError:
        raise
    except RedisServerError as error:
        return _More(error=refused(error))
    except BullrushError as error:
        return _More(error=str(error))


async def _next_added(queue: Queue) -> int | None:
    """Return how many ms ago the job was added that is next.

    Nothing is due in a paused queue, so there is no other age.
    """
    jobs = await queue.get_waiting(0, 0) or await queue.get_prioritized(0, 0)
    return now_ms() - jobs[0].timestamp if jobs and jobs[0].timestamp is not None else None
