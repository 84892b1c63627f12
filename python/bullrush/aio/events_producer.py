"""Publishing events of one's own on a queue's event stream, awaited."""

from bullrush.base.closing import AsyncContext
from bullrush.base.listeners import LoopListeners
from bullrush.events.producer import QueueEventsProducerCalls


class QueueEventsProducer(AsyncContext, QueueEventsProducerCalls):
    """Publishes events of your own for asyncio: `bullrush.QueueEventsProducer` with its calls awaited."""

    _new_listeners = LoopListeners
