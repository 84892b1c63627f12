"""Queues: adding jobs, reading them, and administration."""

from bullrush.queue.discovery import queue_names
from bullrush.queue.queue import Queue, QueueOptions

__all__ = ["Queue", "QueueOptions", "queue_names"]
