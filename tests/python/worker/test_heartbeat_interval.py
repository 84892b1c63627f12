"""Locks are renewed as often as the option ``heartbeat_interval`` says."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Worker, errors
from tests.waiting import wait_until


@pytest.fixture
def running(queue: Queue, worker: Callable[..., Worker]) -> Iterator[Callable[..., str]]:
    """Run a job in the background until the test ends; return the key of its lock."""
    done = threading.Event()
    working: list[Worker] = []

    def run(**options: Any) -> str:
        job = queue.add("n")
        working.append(worker(lambda job: done.wait(30), autorun=True, **options))
        wait_until(job.is_active)
        return queue.to_key(f"{job.id}:lock")

    yield run
    done.set()
    for each in working:
        each.close()


def renewals(redis: Redis, key: str, count: int) -> list[int]:
    """Return how many ms of a lock were left before each of so many renewals, as a reader sees it."""
    seen, last = [], redis.pttl(key)

    def is_enough() -> bool:
        nonlocal last
        now = redis.pttl(key)
        if now > last:
            seen.append(last)
        last = now
        return len(seen) == count

    wait_until(is_enough)
    return seen


def test_a_lock_is_renewed_once_per_interval(redis: Redis, running: Callable[..., str]) -> None:
    """By default it would be every 50 ms here, with 2,900 ms or more left."""
    key = running(lock_duration=3_000, lock_renew_time=100, heartbeat_interval=1_000)
    # The job began between two looks.
    _, *left = renewals(redis, key, 3)
    assert 0 < max(left) <= 2_100


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({}, 15_000),
        ({"lock_duration": 1_000}, 500),
        ({"lock_renew_time": 10_000}, 17_500),
        ({"lock_renew_time": 50_000}, 0),
    ],
    ids=str,
)
def test_an_interval_in_which_locks_would_end_is_refused(options: dict[str, Any], most: int) -> None:
    with pytest.raises(errors.InvalidOptionError, match=f"heartbeat_interval must be at most {most} ms"):
        Worker("q", print, heartbeat_interval=most + 1, **options)
