"""What the first page says about a queue in one line of its table."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from bullrush.aio import Queue
from bullrush.dashboard.first_looks import FirstLooks
from bullrush.dashboard.pages.all.connections import connections
from bullrush.dashboard.pages.silence import silence
from bullrush.dashboard.refusal import refused
from bullrush.dashboard.source import Source
from bullrush.errors import BullrushError, ConnectionLostError, RedisServerError
from bullrush.extending import STUCK_AFTER, now_ms, run_async
from bullrush.inspection import SECOND_LOOK, DueWork, Overview, count_workers, overviews

#: So many queues are asked for more at the same time.
_GROUP: Final = 50
_HOUR: Final = 3_600_000


@dataclass(frozen=True)
class Line:
    """What the first page says about a queue.

    Attributes:
        queue: its name.
        found: how many jobs it has, and what is due; nothing if it cannot be read.
        workers: how many are connected; None if that is not known.
        is_stuck: work is due, and nobody takes it.
        silence: which connected workers send nothing, if that may be why.
        next_added: how many ms ago the job was added that is next in a paused queue; None in another one.
        error: why the queue cannot be read; None if it can.
    """

    queue: str
    found: Overview
    workers: int | None = None
    is_stuck: bool = False
    silence: str | None = None
    next_added: int | None = None
    error: str | None = None

    @property
    def work(self) -> DueWork:
        """What is due."""
        return self.found.work

    @property
    def failed(self) -> int:
        """How many of the kept jobs failed in the last hour."""
        return self.found.failed_lately

    @property
    def waiting(self) -> int:
        """How many jobs wait, also while the queue is paused."""
        return self.work.waiting

    def content(self) -> dict[str, Any]:
        """Return the line of the table."""
        return {
            "queue": self.queue,
            "paused": self.work.paused,
            "limited": self.work.limited,
            "waiting": self.waiting,
            "active": self.found.active,
            "delayed": self.found.delayed,
            "waiting_children": self.found.waiting_children,
            "completed": self.found.completed,
            "failed": self.found.failed,
            "failed_last_hour": self.failed,
            "oldest_due_age": self.work.oldest_age,
            "workers": self.workers,
            "next_added_age": self.next_added,
            "stuck": self.is_stuck,
            "error": self.error,
        }


async def lines(source: Source, queues: Sequence[Queue]) -> list[Line]:
    """Return the lines of queues of one server."""
    if not queues:
        return []
    workers = await run_async(count_workers(queues[0], [queue.name for queue in queues]))
    return await _lines(source, queues, workers)


async def line_of(source: Source, queue: Queue) -> Line:
    """Return the line of a queue that somebody looks at.

    Its workers were counted lately. They are counted now if none was there or none takes a job: somebody may be about
    to mend that.
    """
    workers = await source.workers.value(queue, unless=lambda count: count == 0)
    [line] = await _lines(source, [queue], {queue.name: workers})
    return replace(line, workers=await source.workers.value(queue, unless=bool)) if line.is_stuck and workers else line


async def _lines(source: Source, queues: Sequence[Queue], workers: Mapping[str, int | None]) -> list[Line]:
    lately = now_ms() - _HOUR
    found = await run_async(overviews(queues, lately))
    stuck = await _stuck(source.first_looks, queues, found, lately)
    seen = list(zip(queues, found, strict=True))
    idle = [queue for queue, one in seen if queue.name in stuck and workers[queue.name] and not one.work.active]
    silences = await _silences(idle)
    asked = [(queue, one) for queue, one in seen if one.error or (one.work.paused and one.work.waiting)]
    more: dict[str, _More] = {}
    for first in range(0, len(asked), _GROUP):
        group = asked[first : first + _GROUP]
        answers = await asyncio.gather(*(_more(queue, one) for queue, one in group))
        more |= {queue.name: answer for (queue, _), answer in zip(group, answers, strict=True)}
    return [
        Line(name, one, workers[name], name in stuck, silences.get(name), *more.get(name, _More()))
        for name, one in ((queue.name, one) for queue, one in seen)
    ]


async def _stuck(first_looks: FirstLooks, queues: Sequence[Queue], found: Sequence[Overview], lately: int) -> set[str]:
    """Return the queues whose work is stuck: as `bullrush health`, by a second look.

    Somebody who follows a page looks again anyway. So only a queue that seems stuck for the first time is waited for.
    """
    stuck, seem = set(), []
    for queue, one in zip(queues, found, strict=True):
        if not one.work.is_stuck(one.work.last_start_age, STUCK_AFTER):
            first_looks.forget(queue.name)
        elif (before := first_looks.get(queue.name)) and one.work.is_still_stuck(before, STUCK_AFTER):
            stuck.add(queue.name)
        else:
            first_looks.add(queue.name, one.work)
            seem.append((queue, one.work))
    if not seem:
        return stuck
    await asyncio.sleep(SECOND_LOOK)
    again = await run_async(overviews([queue for queue, _ in seem], lately))
    looks = zip(seem, again, strict=True)
    return stuck | {queue.name for (queue, before), now in looks if now.work.is_still_stuck(before, STUCK_AFTER)}


async def _silences(queues: Sequence[Queue]) -> Mapping[str, str | None]:
    """Return which workers of queues in which nothing runs send nothing, by one CLIENT LIST."""
    connected = await connections(queues) or []
    return {queue.name: silence(one for one in connected if one.queue == queue.name) for queue in queues}


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
