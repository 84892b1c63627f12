"""A worker of several queues, and these queues."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from bullrush import Queue, Worker
from bullrush.worker.lanes.lane import Lane

Queues = Callable[[int], list[Queue]]
Serve = Callable[..., Worker]


@pytest.fixture
def queues(redis_url: str, queue_name: str) -> Iterator[Queues]:
    """Make that many queues."""
    with ExitStack() as opened:

        def make(count: int) -> list[Queue]:
            return [opened.enter_context(Queue(f"{queue_name}~{at}", url=redis_url)) for at in range(count)]

        yield make


@pytest.fixture
def serve(redis_url: str) -> Iterator[Serve]:
    """Make a worker of some queues, and start it by default; it is closed after the test."""
    made: list[tuple[Worker, threading.Thread | None]] = []

    def make(
        handler: Any, lanes: Sequence[Queue | Lane], *, start: bool = True, url: str = redis_url, **options: Any
    ) -> Worker:
        specs = [Lane(lane.name) if isinstance(lane, Queue) else lane for lane in lanes]
        worker = Worker(specs[0].queue, handler, url=url, **options)
        worker.serve(specs)
        thread = threading.Thread(target=worker.run) if start else None
        if thread is not None:
            thread.start()
        made.append((worker, thread))
        return worker

    yield make
    for worker, thread in made:
        worker.close(force=True)
        if thread is not None:
            thread.join()
