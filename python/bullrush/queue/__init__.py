"""Queues: adding jobs, reading them, and administration."""

from bullrush.queue.discovery import queue_names
from bullrush.queue.health import QueueHealth
from bullrush.queue.queue import Queue, QueueOptions

__all__ = ["Queue", "QueueHealth", "QueueOptions", "queue_names"]
