"""bullrush: a job queue for Python and Spark that speaks the BullMQ wire protocol."""

from bullrush import aio, errors
from bullrush._core import __version__
from bullrush.errors import DelayedError, RateLimitError, UnrecoverableError, WaitingChildrenError, WaitingError
from bullrush.events import Event, QueueEvents, QueueEventsProducer
from bullrush.flow import FlowProducer, JobNode
from bullrush.job import Job
from bullrush.queue import Queue
from bullrush.scheduler import JobScheduler
from bullrush.worker import RunStats, Worker

__all__ = [
    "DelayedError",
    "Event",
    "FlowProducer",
    "Job",
    "JobNode",
    "JobScheduler",
    "Queue",
    "QueueEvents",
    "QueueEventsProducer",
    "RateLimitError",
    "RunStats",
    "UnrecoverableError",
    "WaitingChildrenError",
    "WaitingError",
    "Worker",
    "__version__",
    "aio",
    "errors",
]
