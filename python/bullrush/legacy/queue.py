"""A queue of Bull."""

from __future__ import annotations

from bullrush.extending import BlockingContext
from bullrush.legacy.adding import LegacyAdding
from bullrush.legacy.bridging.calls import LegacyBridging
from bullrush.legacy.migrating.calls import LegacyMigrating
from bullrush.legacy.reading import LegacyReading
from bullrush.legacy.removing import LegacyRemoving


class LegacyQueue(BlockingContext, LegacyAdding, LegacyRemoving, LegacyReading, LegacyMigrating, LegacyBridging):
    """A queue of Bull, BullMQ's predecessor, versions 1 to 4. In `bullrush.aio.LegacyQueue` the calls are awaited.

    It writes nothing but what its calls say, and can be used while programs with Bull use the queue.
    """
