"""Queues: adding jobs, looking at them, and administration."""

from bullrush.queue.queue import Queue, QueueOptions

__all__ = ["Queue", "QueueOptions"]
