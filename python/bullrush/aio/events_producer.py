"""Telling the followers of a queue about something of one's own, awaited."""

from bullrush.base.closing import ClosedByAsyncWith
from bullrush.base.emitter import LoopListeners
from bullrush.base.operation import Awaited
from bullrush.events.producer import QueueEventsProducerCalls


class QueueEventsProducer(ClosedByAsyncWith, Awaited, QueueEventsProducerCalls):
    """Publishes events of your own, for asyncio: `bullrush.QueueEventsProducer` with its calls awaited."""

    _new_listeners = LoopListeners
