"""``/workers``: what each worker holds, and for how long, over all queues."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from bullrush.aio import Job, Queue
from bullrush.dashboard.answer import Answer, Asked
from bullrush.dashboard.pages.all.connections import Connected, connections
from bullrush.dashboard.pages.all.queues import choose, readable
from bullrush.dashboard.reading import read
from bullrush.errors import RedisServerError
from bullrush.extending import now_ms, run_async
from bullrush.inspection import holds

#: So many queues are read, those in which most jobs run; so many jobs of each, and so many of a worker are shown.
_MOST_QUEUES: Final = 50
_MOST_JOBS: Final = 200
_SHOWN: Final = 10


class _Held(NamedTuple):
    """A job that runs.

    Attributes:
        queue: the name of its queue.
        job: the job.
        worker: what is unique to its worker; None if its lock has ended.
        left: for how many ms its lock holds.
    """

    queue: str
    job: Job
    worker: str | None
    left: int | None


@dataclass
class _Worker:
    """A worker that holds jobs, and its connection if that is known."""

    held: list[_Held] = field(default_factory=list)
    connected: Connected | None = None

    @property
    def place(self) -> tuple[str, str | None]:
        """The queue and the name: Redis lists connections by these."""
        # A job that is claimed and has not started does not know the name.
        names = (one.job.processed_by for one in self.held)
        return self.held[0].queue, next((name for name in names if name), None)


async def all_workers(asked: Asked) -> Answer:
    """Return the page."""
    queues = await readable(asked, "view")
    listed, chosen = await asyncio.gather(connections(queues), choose(queues, lambda found: found.active, _MOST_QUEUES))
    found = [one for part in await asyncio.gather(*(_held(queue) for queue, _ in chosen.queues)) for one in part]
    workers: dict[str, _Worker] = {}
    for one in found:
        if one.worker is not None:
            workers.setdefault(one.worker, _Worker()).held.append(one)
    free = _match(list(workers.values()), listed or [])
    unsure = {worker.place for worker in workers.values() if worker.connected is None}
    oldest_first = sorted(workers.values(), key=lambda worker: min(one.job.processed_on or 0 for one in worker.held))
    content = {
        "workers": [_shown(asked, worker) for worker in oldest_first],
        "others": [_idle(one, is_sure=(one.queue, one.name) not in unsure) for one in free],
        "lost": [_job(asked, one) for one in found if one.worker is None],
        "listed": listed is not None,
        "looked_at": len(found),
        "active": sum(overview.active for _, overview in chosen.queues),
        "left_out": chosen.left_out,
    }
    return Answer("all_workers.html", "Workers", content)


async def _held(queue: Queue) -> list[_Held]:
    """Return the jobs of a queue that run, the oldest first. A queue that cannot be read must not hide the others."""
    try:
        jobs = await queue.get_active(0, _MOST_JOBS - 1)
        found = await run_async(holds(queue.core, [job.id for job in jobs]))
    except RedisServerError:
        return []
    return [_Held(queue.name, job, *hold) for job, hold in zip(jobs, found, strict=True)]


def _match(workers: Sequence[_Worker], listed: Sequence[Connected]) -> list[Connected]:
    """Give workers their connections where only one can be meant; return the other connections."""
    places = Counter(worker.place for worker in workers)
    by_place: dict[tuple[str, str | None], list[Connected]] = {}
    for one in listed:
        by_place.setdefault((one.queue, one.name), []).append(one)
    for worker in workers:
        fitting = by_place.get(worker.place, [])
        if places[worker.place] == len(fitting) == 1:
            worker.connected = fitting.pop()
    return [one for fitting in by_place.values() for one in fitting]


def _shown(asked: Asked, worker: _Worker) -> dict[str, Any]:
    _, name = worker.place
    return {
        "name": name,
        "queues": sorted({one.queue for one in worker.held}),
        **_connection(worker.connected),
        "count": len(worker.held),
        "holds": [_job(asked, one) for one in worker.held[:_SHOWN]],
    }


def _idle(one: Connected, *, is_sure: bool) -> dict[str, Any]:
    """Return a worker to which no job can be ascribed; it holds none if that is sure."""
    return {"name": one.name, "queues": [one.queue], **_connection(one), "holds_none": is_sure}


def _connection(one: Connected | None) -> dict[str, Any]:
    return {
        "address": None if one is None else one.address,
        "connected": None if one is None else one.since,
        "idle": None if one is None else one.idle,
    }


def _job(asked: Asked, one: _Held) -> dict[str, Any]:
    known = read(one.job)
    started = one.job.processed_on
    return {
        "queue": one.queue,
        "id": one.job.id,
        "name": asked.masks.veil(known.data, known.result).text(one.job.name),
        "started": started,
        "for": None if started is None else max(0, now_ms() - started),
        "lock_left": one.left,
        "worker": one.job.processed_by,
    }
