"""A dashboard over the test's own server, as a program mounts it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Worker
from bullrush.embedded import EmbeddedRedis
from tests.python.dashboard.page import Page, mounted
from tests.python.recorder.recording import file, recording

__all__ = ["file", "recording"]


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """Return the URL of a server of these tests alone: a dashboard shows all queues, also those that others left."""
    with EmbeddedRedis(port=0, password="") as server:
        yield server.url


@pytest.fixture(scope="session")
def _client(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url, decode_responses=True) as client:
        yield client


@pytest.fixture
def opened(redis_url: str) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a dashboard; by default somebody looks who may do everything."""
    pages: list[Page] = []

    def open_it(url: str = redis_url, **options: Any) -> Page:
        pages.append(mounted(url, **options))
        return pages[-1]

    yield open_it
    for page in pages:
        page.close()


@pytest.fixture
def page(opened: Callable[..., Page]) -> Page:
    return opened()


@pytest.fixture
def worked(queue: Queue, redis_url: str) -> Queue:
    """Return a queue with a completed job 1, failed jobs 2 and 3, a waiting job 4 and a delayed job 5."""

    def charge(job: Any) -> Any:
        if job.name == "broken":
            raise ValueError(f"no user {job.id}")
        job.log("sent the first mail")
        return {"sent": True}

    queue.add("welcome", {"user": "Ada"})
    queue.add("broken", {"user": "Eve"})
    queue.add("broken", {"user": "Mallory"})
    with Worker(queue.name, charge, url=redis_url, name="mailer") as worker:
        worker.run(until="empty")
    queue.add("digest", {"user": "Bob"})
    queue.add("later", {"user": "Bob"}, delay=3_600_000)
    return queue
