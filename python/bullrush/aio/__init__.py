"""bullrush for asyncio: the same classes with the same arguments; calls are awaited."""

from bullrush.aio.discovery import queue_names
from bullrush.aio.events import QueueEvents
from bullrush.aio.events_producer import QueueEventsProducer
from bullrush.aio.flow import FlowProducer
from bullrush.aio.job import Job, current_job
from bullrush.aio.queue import Queue
from bullrush.aio.scheduler import JobScheduler
from bullrush.aio.worker import Worker

__all__ = [
    "FlowProducer",
    "Job",
    "JobScheduler",
    "Queue",
    "QueueEvents",
    "QueueEventsProducer",
    "Worker",
    "current_job",
    "queue_names",
]
