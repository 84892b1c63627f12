"""Job schedulers whose calls are awaited."""

from __future__ import annotations

from bullrush.aio.job import Job
from bullrush.base.closing import AsyncContext
from bullrush.base.listeners import LoopListeners
from bullrush.scheduler.scheduler import JobSchedulerCalls


class JobScheduler(AsyncContext, JobSchedulerCalls[Job]):
    """The job schedulers of a queue for asyncio: `bullrush.JobScheduler` with its calls awaited."""

    _job_type = Job
    _new_listeners = LoopListeners
