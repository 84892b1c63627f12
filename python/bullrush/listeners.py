"""Local events: what a worker tells the process it runs in."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

from bullrush.errors import InvalidOptionError
from bullrush.naming import nearest

#: Takes the arguments of its event; see `EVENTS`.
Listener: TypeAlias = Callable[..., Any]
ListenerT = TypeVar("ListenerT", bound=Listener)

#: Every event, and what its listeners are called with.
EVENTS: Final[dict[str, str]] = {
    "ready": "()",
    "active": "(job)",
    "progress": "(job, progress)",
    "completed": "(job, result)",
    "failed": "(job, error)",
    "stalled": "(job_id)",
    "drained": "()",
    "paused": "()",
    "resumed": "()",
    "error": "(error)",
    "closing": "()",
    "closed": "()",
}

_log = logging.getLogger("bullrush")


class Listeners:
    """The functions that listen to one worker. One that raises is logged and the others are still called."""

    def __init__(self) -> None:
        self._by_event: dict[str, list[tuple[Listener, bool]]] = {event: [] for event in EVENTS}

    def add(self, event: str, listener: Listener, *, once: bool) -> None:
        """Call ``listener`` at every event, or at the next one only."""
        self.of(event).append((listener, once))

    def remove(self, event: str, listener: Listener) -> None:
        """Call ``listener`` no more."""
        of_event = self.of(event)
        of_event[:] = [entry for entry in of_event if entry[0] != listener]

    def of(self, event: str) -> list[tuple[Listener, bool]]:
        """Return those who listen to an event: always the same list, so that it can be kept and watched."""
        try:
            return self._by_event[event]
        except KeyError:
            raise InvalidOptionError(f"A worker has no event {event!r}.{nearest(event, EVENTS)}") from None

    def emit(self, event: str, *arguments: object) -> None:
        """Call all listeners of an event."""
        for entry in list(self._by_event[event]):
            listener, once = entry
            if once:
                # Two threads may be here at once; only the one that removes it calls it.
                try:
                    self._by_event[event].remove(entry)
                except ValueError:
                    continue
            try:
                self.call(listener, *arguments)
            except Exception:
                _log.exception("A listener of %r failed", event)

    def call(self, listener: Listener, *arguments: object) -> None:
        """Call one listener; where that happens is the worker's choice."""
        listener(*arguments)


class LoopListeners(Listeners):
    """Listeners that are called on an event loop. They may be coroutine functions."""

    def __init__(self) -> None:
        super().__init__()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Future[object]] = set()

    def attach(self) -> None:
        """Call listeners on the running loop from now on."""
        self._loop = asyncio.get_running_loop()

    async def settled(self) -> None:
        """Wait for the coroutines of listeners."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def call(self, listener: Listener, *arguments: object) -> None:
        """Call one listener on the loop."""
        if self._loop is None:
            self._call_here(listener, *arguments)
        else:
            self._loop.call_soon_threadsafe(self._call_here, listener, *arguments)

    def _call_here(self, listener: Listener, *arguments: object) -> None:
        try:
            result = listener(*arguments)
        except Exception:
            _log.exception("A listener failed")
            return
        if inspect.isawaitable(result):
            task = asyncio.ensure_future(result)
            self._tasks.add(task)
            task.add_done_callback(self._called)

    def _called(self, task: asyncio.Future[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("A listener failed", exc_info=error)
