"""Queues of Bull, BullMQ's predecessor: read, fill, and move to BullMQ."""

from bullrush.legacy.flavor import Flavor, Layout
from bullrush.legacy.job import LegacyJob
from bullrush.legacy.queue import LegacyQueue
from bullrush.legacy.reading import LegacyState
from bullrush.legacy.repeatable import Repeatable

__all__ = ["Flavor", "Layout", "LegacyJob", "LegacyQueue", "LegacyState", "Repeatable"]
