"""bullrush for asyncio: the same classes with the same arguments; calls are awaited."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bullrush.aio.discovery import queue_names
from bullrush.aio.events import QueueEvents
from bullrush.aio.events_producer import QueueEventsProducer
from bullrush.aio.flow import FlowProducer
from bullrush.aio.job import Job, current_job
from bullrush.aio.queue import Queue
from bullrush.aio.scheduler import JobScheduler
from bullrush.aio.worker import Worker
from bullrush.base.first_use import at_first_use

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

__getattr__: Callable[[str], Any] = at_first_use(
    __name__, {"LegacyQueue": "bullrush.legacy.aio", "Notifications": "bullrush.aio.notifications"}
)
