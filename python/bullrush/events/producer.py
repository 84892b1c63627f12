"""Telling the followers of a queue about something of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

from bullrush.base.closing import BlockingContext
from bullrush.base.handle import Handle
from bullrush.base.operation import operation, reply
from bullrush.base.outages import ReportsOutages
from bullrush.errors import InvalidOptionError
from bullrush.values import checks
from bullrush.values.encoding import JSON, encode
from bullrush.values.naming import check_known, check_unicode

if TYPE_CHECKING:
    from typing_extensions import Unpack

_DEFAULT_MAX_EVENTS: Final = 1_000

EVENTS: Final = {"error": "(error)"}


class QueueEventsProducerOptions(TypedDict, total=False):
    """Options of `QueueEventsProducer`.

    Attributes:
        url: where Redis is; see `QueueOptions`.
        prefix: how all keys begin; ``bull``.
    """

    url: str | None
    prefix: str


_KNOWN: Final = frozenset(QueueEventsProducerOptions.__annotations__)


class QueueEventsProducerCalls(ReportsOutages, Handle):
    """The calls of `QueueEventsProducer`, whichever way they are waited for."""

    _events = EVENTS

    def __init__(self, name: str, **options: Unpack[QueueEventsProducerOptions]) -> None:
        """Name a queue. Nothing is sent before the first call.

        Raises:
            QueueNameError: the name is empty or has a colon or control characters.
            InvalidOptionError: an option does not exist or has a bad value.
        """
        check_known(options, _KNOWN, type(self).__name__)
        super().__init__(name, options.get("url"), options.get("prefix", "bull"), options=options)

    @operation
    async def publish_event(self, /, event_name: str, max_events: int = _DEFAULT_MAX_EVENTS, **fields: JSON) -> None:
        """Add an event to the queue's stream, where every `QueueEvents` finds it.

        Args:
            event_name: what those who listen listen to.
            max_events: about how many events the stream keeps. This counts for BullMQ's own events, too.
            fields: what the event tells, under the names given here. Texts go as they are, all else as JSON.

        Raises:
            InvalidOptionError: a field is called ``event``, which is the name of the event itself.
            DataError: a part of a field is not JSON.
            OutcomeUnknownError: the connection broke; the event may have been published.

        Redis:
            One ``XADD``.
        """
        if "event" in fields:
            raise InvalidOptionError("A field cannot be called 'event': that is the name of the event itself")
        command: list[int | str | bytes] = ["XADD", self.to_key("events"), "MAXLEN", "~"]
        command += [checks.at_least(0)("max_events", max_events), "*", "event", checks.text("event_name", event_name)]
        for name, value in fields.items():
            command += [
                check_unicode("A field", name),
                check_unicode(name, value) if isinstance(value, str) else encode(value, name),
            ]
        await reply(self.core.commands([command], repeatable=False))


class QueueEventsProducer(BlockingContext, QueueEventsProducerCalls):
    """Publishes events of your own on a queue's event stream."""
