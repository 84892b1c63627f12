"""bullrush: a job queue for Python and Spark that speaks the BullMQ wire protocol."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bullrush import aio, errors
from bullrush._core import __version__
from bullrush.base.first_use import at_first_use
from bullrush.errors import (
    DelayedError,
    PermanentError,
    RateLimitError,
    TransientError,
    UnrecoverableError,
    WaitingChildrenError,
    WaitingError,
)
from bullrush.events import Event, QueueEvents, QueueEventsProducer
from bullrush.flow import FlowProducer, JobNode
from bullrush.job import AttemptResult, Job
from bullrush.job.context import current_job
from bullrush.queue import Queue
from bullrush.routing import Profile, Routing, Target
from bullrush.scheduler import JobScheduler
from bullrush.worker import RunStats, Worker

if TYPE_CHECKING:
    from bullrush.legacy import LegacyQueue
    from bullrush.notifications import Notifications
    from bullrush.tasks import AsyncTaskJob, Depends, Middleware, Task, TaskJob, Tasks, aenqueue_many, enqueue_many

__all__ = [
    "AsyncTaskJob",
    "AttemptResult",
    "DelayedError",
    "Depends",
    "Event",
    "FlowProducer",
    "Job",
    "JobNode",
    "JobScheduler",
    "LegacyQueue",
    "Middleware",
    "Notifications",
    "PermanentError",
    "Profile",
    "Queue",
    "QueueEvents",
    "QueueEventsProducer",
    "RateLimitError",
    "Routing",
    "RunStats",
    "Target",
    "Task",
    "TaskJob",
    "Tasks",
    "TransientError",
    "UnrecoverableError",
    "WaitingChildrenError",
    "WaitingError",
    "Worker",
    "__version__",
    "aenqueue_many",
    "aio",
    "current_job",
    "enqueue_many",
    "errors",
]

_TASKS = ("AsyncTaskJob", "Depends", "Middleware", "Task", "TaskJob", "Tasks", "aenqueue_many", "enqueue_many")

__getattr__: Callable[[str], Any] = at_first_use(
    __name__,
    {
        "LegacyQueue": "bullrush.legacy",
        "Notifications": "bullrush.notifications",
        **dict.fromkeys(_TASKS, "bullrush.tasks"),
    },
)
