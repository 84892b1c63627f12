"""Finds active jobs that the workers of a run held, and sends them back to the queue when their locks have ended."""

from __future__ import annotations

import time
from typing import Final

from bullrush.queue import Queue
from bullrush.spark.address import Address
from bullrush.spark.routing.queues import queues_of
from bullrush.worker import Worker

#: Seconds between two looks.
_SHORTEST, _LONGEST = 0.1, 1.0
#: ms between two checks for stalled jobs. This may be short: nobody renews these locks.
_INTERVAL: Final = 1_000


def held_jobs(queue: Queue, run: str) -> dict[str, float]:
    """Return the active jobs of a run, with the seconds until their lock ends; 0 if it has ended.

    Redis:
        One LRANGE and MGET per 5,000 active jobs, then PTTL or HGET for each job of the run.
    """
    return {job_id: ms / 1000 for job_id, ms in queue.core.held_jobs(run).wait()}


def still_held(address: Address, run: str, routes: bool = False) -> list[str]:
    """Return the ids of the active jobs of a run. Those in routes, if asked for, have the queue before them."""
    with address.open() as base:
        return [
            job_id if name == address.name else f"{name}:{job_id}"
            for name in queues_of(base, routes)
            for job_id in held_jobs(address.at(name).open(), run)
        ]


def release_jobs(
    address: Address, run: str, max_stalled_count: int, seconds: float | None, routes: bool = False
) -> int | None:
    """Wait until no active job belongs to a run whose tasks have ended.

    A worker that Spark kills may go on for some seconds and finish its jobs. The others return to the queue when their
    locks have ended.

    Args:
        address: the queue.
        run: the run.
        max_stalled_count: the option of the run's workers.
        seconds: when to give up; None is never.
        routes: the run also has jobs of the routes of the queue.

    Returns:
        How many jobs went back to the queue: they were active and are not finished. None if some still are active in
        the end.
    """
    ends = None if seconds is None else time.monotonic() + seconds
    with address.open() as base:
        released = 0
        for name in queues_of(base, routes):
            count = _release_jobs_of(address.at(name), run, max_stalled_count, ends)
            if count is None:
                return None
            released += count
        return released


def _release_jobs_of(address: Address, run: str, max_stalled_count: int, ends: float | None) -> int | None:
    """Do it for one queue, until ``ends`` on the monotonic clock."""
    found: set[str] = set()
    with (
        address.open() as queue,
        Worker(
            address.name,
            url=address.opened_url(),
            prefix=address.prefix,
            max_stalled_count=max_stalled_count,
            stalled_interval=_INTERVAL,
        ) as checker,
    ):
        while held := held_jobs(queue, run):
            if ends is not None and time.monotonic() >= ends:
                return None
            found |= held.keys()
            if not all(held.values()):
                checker.move_stalled_jobs_to_wait()
            time.sleep(min(max(*held.values(), _SHORTEST), _LONGEST))
        return queue.core.count_unfinished(list(found)).wait()
