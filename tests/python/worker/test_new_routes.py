"""A route that is used for the first time while all workers sleep."""

import time
from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from bullrush import Job, Queue, Worker
from tests.waiting import wait_until
from tests.watching import waiting_workers

PROFILE = {"capabilities": ["gpu"], "region": ["eu"]}


@pytest.fixture
def asleep(queue: Queue, redis: Redis, redis_url: str) -> Iterator[Callable[[], float]]:
    """Run a worker with a profile; return a function that says when its handler was last called."""
    started: list[float] = []

    def note(job: Job) -> None:
        started.append(time.monotonic())

    with Worker(queue.name, note, url=redis_url, profile=PROFILE, autorun=True):
        wait_until(lambda: f"bull:{queue.name}:ext:workers" in redis.keys(f"bull:{queue.name}:*"))
        wait_until(lambda: waiting_workers(queue.name, redis))
        yield lambda: wait_until(lambda: started)[-1]


def test_a_new_route_starts_within_two_and_a_half_seconds(queue: Queue, asleep: Callable[[], float]) -> None:
    began = time.monotonic()
    queue.add("encode", target=PROFILE)
    assert asleep() - began < 2.5


def test_a_route_of_one_capability_starts_at_once(queue: Queue, asleep: Callable[[], float]) -> None:
    began = time.monotonic()
    queue.add("encode", target={"capabilities": ["gpu"]})
    assert asleep() - began < 0.5
