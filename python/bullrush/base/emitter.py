"""Local events: an object calls listeners in its own process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar, overload

from bullrush.base.listeners import Listener, Listeners
from bullrush.errors import InvalidOptionError
from bullrush.values.naming import missing_attribute, nearest

ListenerT = TypeVar("ListenerT", bound=Listener)


class Emitter:
    """Base of classes with local events. Without listeners they cost nothing."""

    #: The events that ``on`` accepts, and the arguments of their listeners. None accepts any event.
    _events: ClassVar[Mapping[str, str] | None] = None
    _new_listeners: ClassVar[type[Listeners]] = Listeners
    #: None until the first listener is added.
    _made_listeners: Listeners | None = None

    if not TYPE_CHECKING:  # type checkers would accept any name

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_attribute(self, name)

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
