"""Finds active jobs that the workers of a run held, and sends them back to the queue when their locks have ended."""

from __future__ import annotations

import time
from typing import Any, Final

from bullrush.queue.queue import Queue
from bullrush.spark.address import Address
from bullrush.spark.routing.queues import queues_of
from bullrush.worker.worker import Worker

#: Active ids per call. Parts overlap, since jobs leave the list between two calls.
_WINDOW: Final = 5_000
_OVERLAP: Final = 1_000
#: Seconds between two looks.
_SHORTEST, _LONGEST = 0.1, 1.0
#: ms between two checks for stalled jobs. This may be short: nobody renews these locks.
_INTERVAL: Final = 1_000


def held_jobs(queue: Queue, run: str) -> dict[str, float]:
    """Return the active jobs of a run, with the seconds until their lock ends; 0 if it has ended.

    Redis:
        One LRANGE and MGET per 5,000 active jobs, then PTTL or HGET for each job of the run.
    """
    held: dict[str, float] = {}
    start = 0
    while True:
        ids = [
            job_id.decode() for job_id in _call(queue, ["LRANGE", _key(queue, "active"), start, start + _WINDOW - 1])
        ]
        if ids:
            held.update(_of_run(queue, run, ids))
        if len(ids) < _WINDOW:
            return held
        start += _WINDOW - _OVERLAP


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
        return _unfinished(queue, list(found))


def _unfinished(queue: Queue, ids: list[str]) -> int:
    fields = _calls(queue, [["HMGET", _key(queue, job_id), "name", "finishedOn"] for job_id in ids]) if ids else []
    return sum(name is not None and finished is None for name, finished in fields)


def _of_run(queue: Queue, run: str, ids: list[str]) -> dict[str, float]:
    tokens = _call(queue, ["MGET", *(_key(queue, f"{job_id}:lock") for job_id in ids)])
    begins = f"{run}.".encode()
    locked = [job_id for job_id, token in zip(ids, tokens, strict=True) if token and token.startswith(begins)]
    unlocked = [job_id for job_id, token in zip(ids, tokens, strict=True) if token is None]
    held = dict.fromkeys(locked, 0.0)
    if locked:
        left = _calls(queue, [["PTTL", _key(queue, f"{job_id}:lock")] for job_id in locked])
        held = {job_id: max(ms, 0) / 1000 for job_id, ms in zip(locked, left, strict=True)}
    if unlocked:
        # A job that was claimed ahead has no name of a worker yet. Whoever claimed it is not there any more.
        names = _calls(queue, [["HGET", _key(queue, job_id), "pb"] for job_id in unlocked])
        held |= {
            job_id: 0.0 for job_id, name in zip(unlocked, names, strict=True) if name is None or name.startswith(begins)
        }
    return held


def _key(queue: Queue, name: str) -> str:
    return queue.to_key(name)


def _call(queue: Queue, command: list[int | str]) -> Any:
    return _calls(queue, [command])[0]


def _calls(queue: Queue, commands: list[list[int | str]]) -> list[Any]:
    return queue.core.commands(commands).wait()
