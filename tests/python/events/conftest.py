"""Readers of the test's queue events."""

from collections.abc import Callable, Iterator

import pytest

from bullrush import QueueEvents


@pytest.fixture
def follow(redis_url: str, queue_name: str) -> Iterator[Callable[..., QueueEvents]]:
    """Make followers of the test's queue that miss nothing from then on."""
    made: list[QueueEvents] = []

    def make(**options: object) -> QueueEvents:
        events = QueueEvents(queue_name, url=redis_url, **options)
        made.append(events)
        events.wait_until_ready()
        return events

    yield make
    for events in made:
        events.close()
