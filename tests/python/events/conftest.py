"""QueueEvents objects of the test's queue."""

from collections.abc import Callable, Iterator

import pytest

from bullrush import QueueEvents


@pytest.fixture
def follow(redis_url: str, queue_name: str) -> Iterator[Callable[..., QueueEvents]]:
    """Make QueueEvents of the test's queue that are ready, so they miss no later event."""
    made: list[QueueEvents] = []

    def make(**options: object) -> QueueEvents:
        events = QueueEvents(queue_name, url=redis_url, **options)
        made.append(events)
        events.wait_until_ready()
        return events

    yield make
    for events in made:
        events.close()
