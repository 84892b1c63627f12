"""A queue of Bull whose calls are awaited."""

from __future__ import annotations

from bullrush.base.closing import AsyncContext
from bullrush.legacy.queue import LegacyCalls


class LegacyQueue(AsyncContext, LegacyCalls):
    """A queue of Bull for asyncio: `bullrush.LegacyQueue` with its calls awaited."""
