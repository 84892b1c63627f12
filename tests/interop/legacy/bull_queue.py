"""Queues of real Bull in tests, and what real BullMQ makes of their jobs."""

from typing import Any

import pytest
from redis import Redis

from bullrush import LegacyQueue, Queue
from tests.interop.sides.node_process import NodeProcess
from tests.interop.sides.their_queue import TheirQueue

BULLS = ["bull1", "bull2", "bull30", "bull3", "bull4"]
NAMED = ["bull30", "bull3", "bull4"]
LATER = 3_600_000

every_bull = pytest.mark.parametrize("bull", BULLS, indirect=True)
named_bulls = pytest.mark.parametrize("bull", NAMED, indirect=True)
newest_bull = pytest.mark.parametrize("bull", ["bull4"], indirect=True)


def flavor_of(bull: NodeProcess) -> Any:
    return bull.library.removeprefix("bull")[0]


def add(bull: NodeProcess, queue: LegacyQueue, data: Any = None, **opts: Any) -> str:
    id: str = bull.call("add", queue=queue.name, data=data or {}, opts=opts)
    return id


def finish_all(redis: Redis, node: NodeProcess, queue: Queue) -> list[str]:
    """Let real BullMQ work the queue off; return the ids in the order in which they ran."""
    TheirQueue(node, queue.name).work()
    entries = redis.xrange(queue.to_key("events"))
    return [fields["jobId"] for _, fields in entries if fields["event"] == "active"]


def keys_of(redis: Redis, queue: LegacyQueue) -> set[str]:
    """Return the names of the keys of a queue, without the signpost that a move leaves."""
    return {key.removeprefix(f"bull:{queue.name}:") for key in redis.keys(f"bull:{queue.name}:*")} - {"ext:moved"}
