"""Queues: adding jobs, reading them, and administration."""

from bullrush.queue.administration import CleanableState
from bullrush.queue.discovery import queue_names
from bullrush.queue.health import QueueHealth
from bullrush.queue.queue import Queue, QueueOptions
from bullrush.queue.routing import RouteStatus

__all__ = ["CleanableState", "Queue", "QueueHealth", "QueueOptions", "RouteStatus", "queue_names"]
