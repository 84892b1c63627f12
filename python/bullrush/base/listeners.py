"""The listeners of an object, and where they are called: at once, on an event loop, or later for early events."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

#: Takes the arguments of its event. The docstring of the class that has the event names them.
Listener: TypeAlias = Callable[..., Any]
_Entry: TypeAlias = tuple[Listener, bool]

#: How long, in seconds, and how many events are kept for listeners that are added late.
_EARLY_SECONDS: Final = 1.0
_MAX_MISSED: Final = 10_000

_log: Final = logging.getLogger("bullrush")


class Listeners:
    """The listeners of one object.

    If a listener raises, the error is logged and the other listeners are still called.
    """

    def __init__(self) -> None:
        self._by_event: dict[str, list[_Entry]] = {}

    def entries(self, event: str) -> list[_Entry]:
        """Return the listeners of an event. It is always the same list, so a caller may keep it."""
        return self._by_event.setdefault(event, [])

    def has(self, event: str) -> bool:
        """Tell whether an event has listeners."""
        return bool(self._by_event.get(event))

    def add(self, event: str, listener: Listener, *, once: bool) -> None:
        """Call ``listener`` at each of these events; with ``once`` only at the next one."""
        self.entries(event).append((listener, once))

    def remove(self, event: str, listener: Listener) -> None:
        """Stop calling ``listener``."""
        entries = self.entries(event)
        entries[:] = [entry for entry in entries if entry[0] != listener]

    def emit(self, event: str, *arguments: object) -> bool:
        """Call all listeners of an event; return whether there are any."""
        entries = self._by_event.get(event)
        if not entries:
            return False
        for entry in list(entries):
            self.notify(entry, event, *arguments)
        return True

    def notify(self, entry: _Entry, event: str, *arguments: object) -> None:
        """Call one listener, and remove it if it was added for one event only."""
        listener, once = entry
        if once:
            # Two threads may be here at once: only the one that removes the entry calls the listener.
            try:
                self._by_event[event].remove(entry)
            except ValueError:
                return
        try:
            self.call(event, listener, *arguments)
        except Exception as error:
            _log_failed_listener(event, error)

    def expire(self, *, now: bool = False) -> None:
        """Drop events that are too old for new listeners."""

    @property
    def behind(self) -> bool:
        """True while the listeners are too slow and should get no more events."""
        return False

    def call(self, event: str, listener: Listener, *arguments: object) -> None:  # noqa: ARG002 - for subclasses
        """Call one listener. Subclasses decide on which thread."""
        listener(*arguments)


class EarlyListeners(Listeners):
    """Listeners of an object that emits events before a listener can be added, such as a worker with ``autorun``.

    A listener that is added within a second gets the events that it missed, unless there were 10,000 by then. During
    that time `has` is true for all events.
    """

    def __init__(self, events: Iterable[str]) -> None:
        super().__init__()
        self._until = time.monotonic() + _EARLY_SECONDS
        self._lock = threading.RLock()
        self._missed: list[tuple[str, tuple[object, ...]]] | None = []
        for event in events:
            super().add(event, _placeholder, once=False)

    def add(self, event: str, listener: Listener, *, once: bool) -> None:
        """Call ``listener`` now for each event that it missed, and at each further one."""
        with self._lock:
            missed = [] if self._is_late() else [arguments for name, arguments in self._missed or () if name == event]
            entry = (listener, once)
            self.entries(event).append(entry)
        for arguments in missed[:1] if once else missed:
            self.notify(entry, event, *arguments)

    def emit(self, event: str, *arguments: object) -> bool:
        """Call all listeners of an event; return whether there are any."""
        if self._missed is None:
            return super().emit(event, *arguments)
        with self._lock:
            if not self._is_late():
                self._missed.append((event, arguments))
            entries = list(self.entries(event))
        for entry in entries:
            self.notify(entry, event, *arguments)
        return any(listener is not _placeholder for listener, _ in entries)

    def expire(self, *, now: bool = False) -> None:
        """Drop the kept events if they are too old, or with ``now`` in any case."""
        with self._lock:
            if now:
                self._until = 0.0
            self._is_late()

    def _is_late(self) -> bool:
        """Tell whether the time for late listeners is over; if so, drop the kept events."""
        if self._missed is not None and (time.monotonic() > self._until or len(self._missed) >= _MAX_MISSED):
            self._missed = None
            for event in list(self._by_event):
                self.remove(event, _placeholder)
        return self._missed is None


def _placeholder(*_arguments: object) -> None:
    pass


class LoopListeners(Listeners):
    """Listeners that are called on an event loop. They may be coroutine functions."""

    #: How many calls may wait for the loop.
    _MAX_CALLS: Final = 1000

    def __init__(self) -> None:
        super().__init__()
        # One entry per call that waits for the loop. A counter would not be safe with several threads.
        self._queued: deque[None] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Future[object]] = set()

    def attach(self) -> None:
        """Call listeners on the running loop from now on. Events may come from any thread."""
        self._loop = asyncio.get_running_loop()

    async def wait_for_coroutines(self) -> None:
        """Wait until the coroutines that listeners started have ended."""
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
        """True while too many calls wait for the loop or have not returned."""
        waiting = len(self._queued) + len(self._tasks)
        return waiting >= self._MAX_CALLS and self._loop is not None and not self._loop.is_closed()

    def _call_queued(self, event: str, listener: Listener, *arguments: object) -> None:
        self._queued.pop()
        self._call_here(event, listener, *arguments)

    def _call_here(self, event: str, listener: Listener, *arguments: object) -> None:
        try:
            result = listener(*arguments)
            if inspect.isawaitable(result):
                task = asyncio.ensure_future(result)
                self._tasks.add(task)
                task.add_done_callback(lambda task: self._ended(event, task))
        except Exception as error:
            _log_failed_listener(event, error)

    def _ended(self, event: str, task: asyncio.Future[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log_failed_listener(event, error)


def _log_failed_listener(event: str, error: BaseException) -> None:
    try:
        _log.error("A listener of %r failed", event, exc_info=error)
    except Exception:  # logging reads attributes of the exception, which may run user code
        _log.error("A listener of %r failed with an exception that cannot be shown", event)
