"""The event stream of a queue: reading it, and publishing events."""

from bullrush.events.event import Event
from bullrush.events.producer import QueueEventsProducer, QueueEventsProducerOptions
from bullrush.events.queue_events import QueueEvents, QueueEventsOptions

__all__ = ["Event", "QueueEvents", "QueueEventsOptions", "QueueEventsProducer", "QueueEventsProducerOptions"]
