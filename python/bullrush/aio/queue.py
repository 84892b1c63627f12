"""A queue whose calls are awaited."""

from __future__ import annotations

from bullrush.aio.job import Job
from bullrush.emitter import LoopListeners
from bullrush.handle import ClosedByAsyncWith
from bullrush.operation import Awaited
from bullrush.queue import QueueCalls


class Queue(ClosedByAsyncWith, Awaited, QueueCalls[Job]):
    """A queue, for asyncio: `bullrush.Queue` with its calls awaited."""

    _job_type = Job
    _new_listeners = LoopListeners
