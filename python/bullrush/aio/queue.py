"""A queue whose calls are awaited."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from bullrush.aio.job import Job
from bullrush.aio.scheduler import JobScheduler
from bullrush.base.closing import AsyncContext
from bullrush.base.listeners import LoopListeners
from bullrush.queue.queue import QueueCalls

if TYPE_CHECKING:
    from bullrush.queue.named_limits import AsyncNamedLimits


class Queue(AsyncContext, QueueCalls[Job]):
    """A queue for asyncio: `bullrush.Queue` with its calls awaited."""

    _job_type = Job
    _new_listeners = LoopListeners

    @cached_property
    def limits(self) -> AsyncNamedLimits:
        """Limits with a name, which all queues of this prefix share."""
        # At the first use: most programs have no limit with a name.
        from bullrush.queue.named_limits import AsyncNamedLimits

        return AsyncNamedLimits(lambda: self.core)

    @cached_property
    def job_scheduler(self) -> JobScheduler:
        """The queue's job schedulers, as an object of their own."""
        return self._schedulers(JobScheduler)
