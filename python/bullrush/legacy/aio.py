"""A queue of Bull whose calls are awaited."""

from __future__ import annotations

from bullrush.extending import AsyncContext
from bullrush.legacy.adding import LegacyAdding
from bullrush.legacy.bridging.calls import LegacyBridging
from bullrush.legacy.migrating.calls import LegacyMigrating
from bullrush.legacy.reading import LegacyReading


class LegacyQueue(AsyncContext, LegacyAdding, LegacyReading, LegacyMigrating, LegacyBridging):
    """A queue of Bull for asyncio: `bullrush.LegacyQueue` with its calls awaited."""
