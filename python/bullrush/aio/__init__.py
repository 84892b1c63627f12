"""bullrush for asyncio: the same classes with the same arguments; calls are awaited."""

import importlib
from typing import TYPE_CHECKING, Any

from bullrush.aio.discovery import queue_names
from bullrush.aio.events import QueueEvents
from bullrush.aio.events_producer import QueueEventsProducer
from bullrush.aio.flow import FlowProducer
from bullrush.aio.job import Job, current_job
from bullrush.aio.queue import Queue
from bullrush.aio.scheduler import JobScheduler
from bullrush.aio.worker import Worker

if TYPE_CHECKING:
    from bullrush.aio.notifications import Notifications
    from bullrush.legacy.aio import LegacyQueue

__all__ = [
    "FlowProducer",
    "Job",
    "JobScheduler",
    "LegacyQueue",
    "Notifications",
    "Queue",
    "QueueEvents",
    "QueueEventsProducer",
    "Worker",
    "current_job",
    "queue_names",
]

_ROOMS = {"LegacyQueue": "bullrush.legacy.aio", "Notifications": "bullrush.aio.notifications"}


def __getattr__(name: str) -> Any:
    """Import what not every program needs at its first use: others start sooner."""
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ROOMS[name]), name)
