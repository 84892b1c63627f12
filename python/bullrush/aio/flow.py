"""A flow producer whose calls are awaited."""

from __future__ import annotations

from bullrush.aio.job import Job
from bullrush.base.closing import AsyncContext
from bullrush.base.listeners import LoopListeners
from bullrush.flow.producer import FlowProducerCalls


class FlowProducer(AsyncContext, FlowProducerCalls[Job]):
    """Adds flows (trees of jobs) for asyncio: `bullrush.FlowProducer` with its calls awaited."""

    _job_type = Job
    _new_listeners = LoopListeners
