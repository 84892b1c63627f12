"""A queue of Bull whose calls are awaited."""

from __future__ import annotations

from bullrush.extending import AsyncContext
from bullrush.legacy.adding import LegacyAdding
from bullrush.legacy.bridging.calls import LegacyBridging
from bullrush.legacy.migrating.calls import LegacyMigrating
from bullrush.legacy.reading import LegacyReading
from bullrush.legacy.removing import LegacyRemoving


class LegacyQueue(AsyncContext, LegacyAdding, LegacyRemoving, LegacyReading, LegacyMigrating, LegacyBridging):
    """A queue of Bull for asyncio: `bullrush.LegacyQueue` with its calls awaited."""
