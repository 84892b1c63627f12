"""A queue of real Bull that the tests move, and the queue to which its jobs go."""

from collections.abc import Iterator

import pytest

from bullrush import LegacyQueue, Queue
from tests.interop.sides.node_process import NodeProcess

from .bull_queue import flavor_of


@pytest.fixture
def old(queue_name: str, redis_url: str, bull: NodeProcess) -> Iterator[LegacyQueue]:
    """The test's queue, one of Bull."""
    with LegacyQueue(queue_name, url=redis_url, flavor=flavor_of(bull)) as queue:
        yield queue
    bull.call("close", queue=queue_name)


@pytest.fixture
def new(queue_name: str, redis_url: str) -> Iterator[Queue]:
    """The queue of BullMQ to which the jobs of `old` move."""
    with Queue(f"{queue_name}-new", url=redis_url) as queue:
        yield queue
