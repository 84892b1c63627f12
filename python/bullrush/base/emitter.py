"""Local events: what an object tells the process it lives in."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final, TypeAlias, TypeVar, overload

from bullrush.errors import InvalidOptionError
from bullrush.values.naming import nearest

#: Takes the arguments of its event; see the ``on`` of the class that has the event.
Listener: TypeAlias = Callable[..., Any]
ListenerT = TypeVar("ListenerT", bound=Listener)
_Entry: TypeAlias = tuple[Listener, bool]

#: For how long, in seconds, and how many events those are told that they have missed.
_SOON: Final = 1.0
_MOST_MISSED: Final = 10_000

_log: Final = logging.getLogger("bullrush")


class Listeners:
    """The functions that listen to one object. One that raises is logged and the others are still called."""

    def __init__(self) -> None:
        self._by_event: dict[str, list[_Entry]] = {}

    def of(self, event: str) -> list[_Entry]:
        """Return those who listen to an event: always the same list, so that it can be kept and watched."""
        return self._by_event.setdefault(event, [])

    def has(self, event: str) -> bool:
        """Tell whether someone listens to an event."""
        return bool(self._by_event.get(event))

    def add(self, event: str, listener: Listener, *, once: bool) -> None:
        """Call ``listener`` from now on."""
        self.of(event).append((listener, once))

    def remove(self, event: str, listener: Listener) -> None:
        """Call ``listener`` no more."""
        of_event = self.of(event)
        of_event[:] = [entry for entry in of_event if entry[0] != listener]

    def emit(self, event: str, *arguments: object) -> bool:
        """Call all listeners of an event and tell whether there are any."""
        entries = self._by_event.get(event)
        if not entries:
            return False
        for entry in list(entries):
            self.tell(entry, event, *arguments)
        return True

    def tell(self, entry: _Entry, event: str, *arguments: object) -> None:
        """Call one of those who listen."""
        listener, once = entry
        if once:
            # Two threads may be here at once; only the one that removes it calls it.
            try:
                self._by_event[event].remove(entry)
            except ValueError:
                return
        try:
            self.call(event, listener, *arguments)
        except Exception as error:
            _complain(event, error)

    def expire(self, *, now: bool = False) -> None:
        """Forget what nobody can be told any more."""

    @property
    def behind(self) -> bool:
        """Tell whether it should get no more events for now."""
        return False

    def call(self, event: str, listener: Listener, *arguments: object) -> None:  # noqa: ARG002 - for subclasses
        """Call one listener; where that happens is the class's choice."""
        listener(*arguments)


class EarlyListeners(Listeners):
    """Listeners of something that was busy before anybody could listen: who comes soon is told what was missed.

    Soon: within a second, and until 10,000 events were told. Until then all events pass for wanted.
    """

    def __init__(self, events: Iterable[str]) -> None:
        super().__init__()
        self._until = time.monotonic() + _SOON
        self._lock = threading.RLock()
        self._missed: list[tuple[str, tuple[object, ...]]] | None = []
        for event in events:
            super().add(event, _nobody, once=False)

    def add(self, event: str, listener: Listener, *, once: bool) -> None:
        """Call ``listener`` at once for what it has missed, and from now on."""
        with self._lock:
            missed = [] if self._is_late() else [told for name, told in self._missed or () if name == event]
            entry = (listener, once)
            self.of(event).append(entry)
        for arguments in missed[:1] if once else missed:
            self.tell(entry, event, *arguments)

    def emit(self, event: str, *arguments: object) -> bool:
        """Call all listeners of an event and tell whether there are any."""
        if self._missed is None:
            return super().emit(event, *arguments)
        with self._lock:
            if not self._is_late():
                self._missed.append((event, arguments))
            entries = list(self.of(event))
        for entry in entries:
            self.tell(entry, event, *arguments)
        return any(listener is not _nobody for listener, _ in entries)

    def expire(self, *, now: bool = False) -> None:
        """Forget what was missed if it is too late to be told, or ``now``."""
        with self._lock:
            if now:
                self._until = 0.0
            self._is_late()

    def _is_late(self) -> bool:
        """Tell whether it is too late to be told what was missed, and forget it then."""
        if self._missed is not None and (time.monotonic() > self._until or len(self._missed) >= _MOST_MISSED):
            self._missed = None
            for event in list(self._by_event):
                self.remove(event, _nobody)
        return self._missed is None


def _nobody(*_arguments: object) -> None:
    pass


class LoopListeners(Listeners):
    """Listeners that are called on an event loop. They may be coroutine functions."""

    #: So many calls may wait for the loop.
    _MOST: Final = 1000

    def __init__(self) -> None:
        super().__init__()
        # One entry per call: a number could not be counted by several threads.
        self._queued: deque[None] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Future[object]] = set()

    def attach(self) -> None:
        """Call listeners on the running loop from now on, whichever thread an event comes from."""
        self._loop = asyncio.get_running_loop()

    async def settled(self) -> None:
        """Wait for the coroutines of listeners."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def call(self, event: str, listener: Listener, *arguments: object) -> None:
        """Call one listener on the loop."""
        if self._loop is None:
            self._call_here(event, listener, *arguments)
        elif not self._loop.is_closed():
            self._queued.append(None)
            self._loop.call_soon_threadsafe(self._call_queued, event, listener, *arguments)

    @property
    def behind(self) -> bool:
        """Tell whether so many calls wait for the loop, or have not returned, that it should get no more."""
        waiting = len(self._queued) + len(self._tasks)
        return waiting >= self._MOST and self._loop is not None and not self._loop.is_closed()

    def _call_queued(self, event: str, listener: Listener, *arguments: object) -> None:
        self._queued.pop()
        self._call_here(event, listener, *arguments)

    def _call_here(self, event: str, listener: Listener, *arguments: object) -> None:
        try:
            result = listener(*arguments)
            if inspect.isawaitable(result):
                task = asyncio.ensure_future(result)
                self._tasks.add(task)
                task.add_done_callback(lambda task: self._called(event, task))
        except Exception as error:
            _complain(event, error)

    def _called(self, event: str, task: asyncio.Future[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _complain(event, error)


def _complain(event: str, error: BaseException) -> None:
    try:
        _log.error("A listener of %r failed", event, exc_info=error)
    except Exception:  # what shows it reads its attributes, which may be of any make
        _log.error("A listener of %r failed with an exception that cannot be shown", event)


class Emitter:
    """Has local events. An object that nobody listens to pays nothing for them."""

    #: The events that ``on`` accepts, and what their listeners get; None: any.
    _events: ClassVar[Mapping[str, str] | None] = None
    _new_listeners: ClassVar[type[Listeners]] = Listeners
    #: Unset until someone listens.
    _made_listeners: Listeners | None = None

    @property
    def _listeners(self) -> Listeners:
        if self._made_listeners is None:
            # One step, so that two threads get the same one.
            self._made_listeners = self.__dict__.setdefault("_made_listeners", self._new_listeners())
        return self._made_listeners

    @overload
    def on(self, event: str, listener: None = None) -> Callable[[ListenerT], ListenerT]: ...
    @overload
    def on(self, event: str, listener: ListenerT) -> ListenerT: ...
    def on(self, event: str, listener: Listener | None = None) -> Any:
        """Call a function at every event: ``x.on("error", note)``, or ``@x.on("error")`` above it.

        Raises:
            InvalidOptionError: there is no such event.
        """
        return self._listen(event, listener, once=False)

    @overload
    def once(self, event: str, listener: None = None) -> Callable[[ListenerT], ListenerT]: ...
    @overload
    def once(self, event: str, listener: ListenerT) -> ListenerT: ...
    def once(self, event: str, listener: Listener | None = None) -> Any:
        """Call a function at the next event only; see `on`."""
        return self._listen(event, listener, once=True)

    def off(self, event: str, listener: Listener) -> None:
        """Call a function no more; see `on`."""
        if self._made_listeners is not None:
            self._made_listeners.remove(event, listener)

    def emit(self, event: str, *arguments: object) -> bool:
        """Call the listeners of an event and tell whether there are any."""
        return self._made_listeners is not None and self._made_listeners.emit(event, *arguments)

    def has_listeners(self, event: str) -> bool:
        """Tell whether someone listens to an event."""
        return self._made_listeners is not None and self._made_listeners.has(event)

    def _listen(self, event: str, listener: Any, *, once: bool) -> Any:
        if self._events is not None and event not in self._events:
            raise InvalidOptionError(f"{type(self).__name__} has no event {event!r}.{nearest(event, self._events)}")
        if listener is None:
            return lambda function: self._listen(event, function, once=once)
        self._listeners.add(event, listener, once=once)
        return listener
