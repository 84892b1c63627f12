"""Workers share a global concurrency or a rate limit: none of them keeps all of it for as long as jobs wait."""

import asyncio
from collections import Counter
from contextlib import ExitStack
from typing import Any

import pytest

from bullrush import Queue
from tests.interop.sides.their_queue import TheirQueue
from tests.waiting import wait_until

from .our_worker import our_worker

SLOTS = 4
JOBS = 800
FAIR = 0.15


async def work(job: Any) -> None:
    await asyncio.sleep(0.008)


def fill(queue: Queue) -> None:
    queue.set_global_concurrency(SLOTS)
    queue.add_bulk([{"name": "work", "data": {"runs": [[["sleep", 8], ["return", 1]]]}} for _ in range(JOBS)])


def wait_for_all(queue: Queue) -> None:
    wait_until(lambda: queue.get_completed_count() == JOBS, seconds=60, pause=0.05)


def shares(queue: Queue, since: str | None = None) -> dict[str | None, float]:
    """The part of the jobs that each worker ran, from the first job of one of them on."""
    jobs = sorted(queue.get_completed(0, JOBS), key=lambda job: job.processed_on or 0)
    names = [job.processed_by for job in jobs]
    names = names[names.index(since) :] if since else names
    return {name: count / len(names) for name, count in Counter(names).items()}


@pytest.mark.parametrize("slots", [1, 4, 10])
def test_each_of_four_workers_gets_a_fair_part_of_the_jobs(ours: Queue, redis_url: str, slots: int) -> None:
    ours.set_global_concurrency(SLOTS)
    with ExitStack() as fleet:
        for number in range(4):
            name = f"our-{number}"
            fleet.enter_context(our_worker(ours.name, redis_url, work, name=name, concurrency=slots))
        wait_until(lambda: len(ours.get_workers()) == 4)
        fill(ours)
        wait_for_all(ours)
    parts = shares(ours)
    assert len(parts) == 4
    assert min(parts.values()) >= FAIR, parts


def test_a_worker_that_comes_later_gets_a_fair_part_of_the_slots(ours: Queue, redis_url: str) -> None:
    fill(ours)
    with our_worker(ours.name, redis_url, work, name="first", concurrency=10):
        wait_until(lambda: ours.get_completed_count() > 40)
        with our_worker(ours.name, redis_url, work, name="second", concurrency=10):
            wait_for_all(ours)
    parts = shares(ours, since="second")
    assert min(parts.values()) >= FAIR, parts


@pytest.mark.parametrize("slots", [1, 4, 10])
def test_a_worker_of_theirs_beside_one_of_ours_that_holds_all_slots_gets_a_fair_part(
    theirs: TheirQueue, ours: Queue, redis_url: str, slots: int
) -> None:
    fill(ours)
    with our_worker(ours.name, redis_url, work, name="our", concurrency=10):
        wait_until(lambda: ours.get_completed_count() > 40)
        with theirs.worker(name="their", concurrency=slots):
            wait_for_all(ours)
    parts = shares(ours, since="their")
    assert min(parts.values()) >= FAIR, parts


def test_each_worker_of_a_mixed_fleet_gets_a_fair_part(theirs: TheirQueue, ours: Queue, redis_url: str) -> None:
    """Theirs have one slot each: they give nothing up, so one that had more could keep the slots of others."""
    ours.set_global_concurrency(SLOTS)
    with ExitStack() as fleet:
        for number in range(2):
            fleet.enter_context(our_worker(ours.name, redis_url, work, name=f"our-{number}", concurrency=10))
            fleet.enter_context(theirs.worker(name=f"their-{number}", concurrency=1))
        wait_until(lambda: len(ours.get_workers()) == 4)
        fill(ours)
        wait_for_all(ours)
    parts = shares(ours)
    assert len(parts) == 4
    assert min(parts.values()) >= FAIR, parts


@pytest.mark.parametrize("is_global", [False, True], ids=["of the workers", "global"])
def test_each_worker_of_a_mixed_fleet_gets_a_part_of_a_small_rate_limit(
    theirs: TheirQueue, ours: Queue, redis_url: str, is_global: bool
) -> None:
    """Ours take the jobs of several slots in one call, theirs one by one. Fair to 15 % each, but for chance."""
    jobs, limit = 400, {"max": 10, "duration": 100}
    if is_global:
        ours.set_global_rate_limit(limit["max"], limit["duration"])
    ours.pause()
    ours.add_bulk([{"name": "work", "data": {"runs": [[["return", 1]]]}} for _ in range(jobs)])
    with ExitStack() as fleet:
        for number in range(2):
            options: Any = {"concurrency": 10} | ({} if is_global else {"limiter": limit})
            fleet.enter_context(our_worker(ours.name, redis_url, work, name=f"our-{number}", **options))
            fleet.enter_context(theirs.worker(name=f"their-{number}", **options))
        wait_until(lambda: len(ours.get_workers()) == 4)
        ours.resume()
        wait_until(lambda: ours.get_completed_count() == jobs, seconds=60, pause=0.05)
    counts = Counter(job.processed_by for job in ours.get_completed(0, jobs))
    theirs_part = (counts["their-0"] + counts["their-1"]) / jobs
    assert theirs_part >= 0.2, counts
    assert min(counts["our-0"], counts["our-1"]) / jobs >= FAIR, counts
