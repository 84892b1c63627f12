"""What belongs to one Redis server: its address, its options, closing, and the events of the object itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, TypeVar, overload
from weakref import WeakSet

from bullrush.base.listeners import Listener, Listeners
from bullrush.base.operation import operation
from bullrush.errors import ClosedError, InvalidOptionError
from bullrush.masking import masked
from bullrush.telemetry.protocol import NO_SPAN, Span, SpanKind, Telemetry
from bullrush.url import given_url, resolve
from bullrush.values.naming import check_unicode, missing_attribute, nearest
from bullrush.values.options import Settings

ListenerT = TypeVar("ListenerT", bound=Listener)


class GivenOptions(dict[str, Any]):
    """The options of an object. ``repr`` hides the password of the URL."""

    def __repr__(self) -> str:
        return repr({name: masked(value) if name == "url" and value else value for name, value in self.items()})


class Connected:
    """Base of everything that belongs to one Redis server and one key prefix.

    It has local events, which cost nothing without listeners.
    """

    #: The events that ``on`` accepts, and the arguments of their listeners. None accepts any event.
    _events: ClassVar[Mapping[str, str] | None] = None
    _new_listeners: ClassVar[type[Listeners]] = Listeners
    #: None until the first listener is added.
    _made_listeners: Listeners | None = None

    if not TYPE_CHECKING:  # type checkers would accept any name

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_attribute(self, name)

    _closing: bool | None = None

    def __init__(self, settings: Settings, given: Mapping[str, object]) -> None:
        """Take the checked options, which have at least those of `ServerOptions`, and what was given."""
        self._prefix: str = settings.prefix
        # Without a URL the environment is read at the first use: a queue may be a global of a module, and a test or a
        # program sets the variable after its import.
        self._resolved_url = None if settings.url is None else check_unicode("url", resolve(settings.url))
        self._opts = GivenOptions(given)
        self._telemetry: Telemetry | None = getattr(settings, "telemetry", None)

    @property
    def _url(self) -> str:
        """The URL to connect to."""
        if self._resolved_url is None:
            self._resolved_url = check_unicode("url", resolve(None))
            _FROM_ENVIRONMENT.add(self)
        return self._resolved_url

    def _forget_url(self) -> None:
        """Read the environment again at the next call."""
        self._resolved_url = None

    @property
    def _shown_url(self) -> str:
        """The URL for ``repr``, without its password. It resolves nothing: that may start a server."""
        return masked(self._resolved_url or given_url(None))

    @property
    def prefix(self) -> str:
        """The prefix of all keys, ``bull`` by default."""
        return self._prefix

    @property
    def opts(self) -> dict[str, Any]:
        """The options as given. ``repr`` hides the password of the URL."""
        return self._opts

    @property
    def telemetry(self) -> Telemetry | None:
        """The tracer of this object, None if it has none."""
        return self._telemetry

    @contextmanager
    def trace(
        self,
        operation: str,
        destination: str | None = None,
        *,
        kind: SpanKind = "internal",
        attributes: Mapping[str, Any] | None = None,
    ) -> Iterator[Span]:
        """Open a span around a block of code with this object's telemetry; do nothing if it has none.

        Args:
            operation: the first part of the span's name.
            destination: the second part of the span's name; the queue's name by default.
            kind: internal, producer or consumer.
            attributes: further attributes of the span.
        """
        if self._telemetry is None:
            yield NO_SPAN
            return
        queue: str = getattr(self, "name", "")
        target = queue if destination is None else destination
        all_attributes = {"bullmq.queue.name": queue, "bullmq.queue.operation": operation, **(attributes or {})}
        with self._telemetry.span(f"{operation} {target}".rstrip(), kind, all_attributes) as span:
            yield span

    @property
    def closing(self) -> bool | None:
        """None while the object is open, True once closing has begun."""
        return self._closing

    @operation
    async def close(self) -> None:
        """Close the object. Later calls raise `ClosedError`. Nothing changes in Redis."""
        self._shut_down()

    @operation
    async def disconnect(self) -> None:
        """Close the object at once, without waiting for anything."""
        self._shut_down()

    def _shut_down(self) -> None:
        self._closing = True

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"{self!r} is closed")

    @property
    def _listeners(self) -> Listeners:
        if self._made_listeners is None:
            # `setdefault` is atomic: two threads get the same object.
            self._made_listeners = self.__dict__.setdefault("_made_listeners", self._new_listeners())
        return self._made_listeners

    @overload
    def on(self, event: str, listener: None = None) -> Callable[[ListenerT], ListenerT]: ...
    @overload
    def on(self, event: str, listener: ListenerT) -> ListenerT: ...
    def on(self, event: str, listener: Listener | None = None) -> Any:
        """Call a function at every event of this name: ``x.on("error", note)``, or ``@x.on("error")`` as a decorator.

        A listener that raises is logged; the other listeners are still called.

        Args:
            event: the event's name.
            listener: gets the arguments of the event. Without it the result is a decorator.

        Returns:
            The listener.

        Raises:
            InvalidOptionError: there is no event of this name.
        """
        return self._listen(event, listener, once=False)

    @overload
    def once(self, event: str, listener: None = None) -> Callable[[ListenerT], ListenerT]: ...
    @overload
    def once(self, event: str, listener: ListenerT) -> ListenerT: ...
    def once(self, event: str, listener: Listener | None = None) -> Any:
        """Call a function at the next event of this name only; see `on`.

        Args:
            event: the event's name.
            listener: gets the arguments of the event. Without it the result is a decorator.
        """
        return self._listen(event, listener, once=True)

    def off(self, event: str, listener: Listener) -> None:
        """Stop calling a listener that `on` or `once` added.

        Args:
            event: the event's name.
            listener: the function that was given to `on` or `once`.
        """
        if self._made_listeners is not None:
            self._made_listeners.remove(event, listener)

    def emit(self, event: str, *arguments: object) -> bool:
        """Call the listeners of an event with these arguments; return whether there are any.

        Args:
            event: the event's name.
            *arguments: what the listeners get.
        """
        return self._made_listeners is not None and self._made_listeners.emit(event, *arguments)

    def _has_listeners(self, event: str) -> bool:
        """Return whether an event has listeners."""
        return self._made_listeners is not None and self._made_listeners.has(event)

    def _listen(self, event: str, listener: Any, *, once: bool) -> Any:
        if self._events is not None and event not in self._events:
            raise InvalidOptionError(f"{type(self).__name__} has no event {event!r}.{nearest(event, self._events)}")
        if listener is None:
            return lambda function: self._listen(event, function, once=once)
        self._listeners.add(event, listener, once=once)
        return listener


#: What has its URL from the environment.
_FROM_ENVIRONMENT: Final[WeakSet[Connected]] = WeakSet()


def forget_environment() -> None:
    """Let everything without a URL of its own read the environment again at its next call; for tests.

    Otherwise a queue that was used before a test would add the jobs of the test to the server of the program.
    """
    for one in list(_FROM_ENVIRONMENT):
        one._forget_url()
    _FROM_ENVIRONMENT.clear()
