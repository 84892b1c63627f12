"""Queues of Bull, BullMQ's predecessor: read, fill, and move to BullMQ."""

from bullrush.legacy.queue import LegacyQueue

__all__ = ["LegacyQueue"]
