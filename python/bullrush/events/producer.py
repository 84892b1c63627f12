"""Publishing events of one's own on a queue's event stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bullrush.base.closing import BlockingContext
from bullrush.base.handle import Handle
from bullrush.base.operation import operation, options_by_name, reply
from bullrush.base.options import HandleOptions
from bullrush.base.outages import ReportsOutages
from bullrush.errors import InvalidOptionError
from bullrush.values import checks
from bullrush.values.encoding import JSON, encode
from bullrush.values.naming import check_unicode
from bullrush.values.options import checked_options, declare_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

_DEFAULT_MAX_EVENTS: Final = 1_000

EVENTS: Final = {"error": "(error)"}


@declare_options
class QueueEventsProducerOptions(HandleOptions, total=False):
    """Options of `QueueEventsProducer`."""


class QueueEventsProducerCalls(ReportsOutages, Handle):
    """The calls of `QueueEventsProducer`, written once for both APIs."""

    _events = EVENTS

    @options_by_name
    def __init__(self, name: str, **options: Unpack[QueueEventsProducerOptions]) -> None:
        """Make a producer for a queue. It connects at the first call.

        Args:
            name: the queue's name.
            options: see `QueueEventsProducerOptions`.

        Raises:
            QueueNameError: the name is empty, or has a colon or control characters.
            InvalidOptionError: an option does not exist or has an invalid value.
        """
        super().__init__(name, checked_options(QueueEventsProducerOptions, options, type(self).__name__), options)

    @operation
    async def publish_event(self, /, event_name: str, max_events: int = _DEFAULT_MAX_EVENTS, **fields: JSON) -> None:
        """Publish an event on the queue's stream, which every `QueueEvents` reads.

        Args:
            event_name: the name of the event, for which listeners are called.
            max_events: about how many events the stream keeps, including BullMQ's own events.
            fields: the fields of the event. Texts are stored as they are, other values as JSON.

        Raises:
            InvalidOptionError: a field is called ``event``, which is the field of the event's name.
            DataError: a part of a field is not JSON.
            OutcomeUnknownError: the connection broke; the event was published or not.

        Redis:
            One ``XADD``.
        """
        if "event" in fields:
            raise InvalidOptionError("A field cannot be called 'event': that is the name of the event itself")
        most = checks.at_least(0)("max_events", max_events)
        stored = [(b"event", checks.text("event_name", event_name).encode())]
        for name, value in fields.items():
            text = check_unicode(name, value).encode() if isinstance(value, str) else encode(value, name)
            stored.append((check_unicode("A field", name).encode(), text))
        await reply(self.core.publish_event(most, stored))


class QueueEventsProducer(BlockingContext, QueueEventsProducerCalls):
    """Publishes events of your own on a queue's event stream. Its calls block."""
