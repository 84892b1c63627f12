"""Telling the followers of a queue about something of one's own, awaited."""

from bullrush.emitter import LoopListeners
from bullrush.events_producer import QueueEventsProducerCalls
from bullrush.handle import ClosedByAsyncWith
from bullrush.operation import Awaited


class QueueEventsProducer(ClosedByAsyncWith, Awaited, QueueEventsProducerCalls):
    """Publishes events of your own, for asyncio: `bullrush.QueueEventsProducer` with its calls awaited."""

    _new_listeners = LoopListeners
