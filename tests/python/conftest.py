"""Queues and workers on the test's own server, and a way to wait for a state without sleeping for it."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bullrush import Queue, Worker


@pytest.fixture
def queue(redis_url: str, queue_name: str) -> Iterator[Queue]:
    with Queue(queue_name, url=redis_url) as queue:
        yield queue


@pytest.fixture
def worker(redis_url: str, queue_name: str) -> Iterator[Callable[..., Worker]]:
    """Make workers of the test's queue; what still runs is closed after the test."""
    made: list[Worker] = []

    def make(handler: Any = None, **options: Any) -> Worker:
        made.append(Worker(queue_name, handler, url=redis_url, **options))
        return made[-1]

    yield make
    for worker in made:
        worker.close(force=True)


@pytest.fixture
def eventually() -> Callable[..., None]:
    """Wait until a condition holds, at most some seconds."""

    def wait(condition: Callable[[], object], seconds: float = 10) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it never came true"
            time.sleep(0.005)

    return wait
