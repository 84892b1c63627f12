"""A flow producer whose calls are awaited."""

from __future__ import annotations

from bullrush.aio.job import Job
from bullrush.emitter import LoopListeners
from bullrush.flow import FlowProducerCalls
from bullrush.handle import ClosedByAsyncWith
from bullrush.operation import Awaited


class FlowProducer(ClosedByAsyncWith, Awaited, FlowProducerCalls[Job]):
    """Adds trees of jobs, for asyncio: `bullrush.FlowProducer` with its calls awaited."""

    _job_type = Job
    _new_listeners = LoopListeners
