"""Queues and workers on the test's own server."""

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
    """Make workers of the test's queue; those that still run are closed after the test."""
    made: list[Worker] = []

    def make(handler: Any = None, **options: Any) -> Worker:
        made.append(Worker(queue_name, handler, url=redis_url, **options))
        return made[-1]

    yield make
    for worker in made:
        worker.close(force=True)
