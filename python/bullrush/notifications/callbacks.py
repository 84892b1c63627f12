"""Calls the callbacks of listeners, each one call after the other."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from bullrush.base.at_exit import close_at_exit, forget_at_exit
from bullrush.base.completions import result_of
from bullrush.errors import InvalidOptionError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from bullrush._core import CoreNotifications

#: How many callbacks run at the same time on threads, which start when they are needed. One that blocks takes one of
#: them.
_THREADS: Final = 32
#: How many calls of one callback may wait. Further ones would say nothing new.
_MOST_CALLS: Final = 100

_log: Final = logging.getLogger("bullrush")


class Listener:
    """One listener: what to call, and how often still."""

    __slots__ = ("busy", "call", "calls", "key", "stopped")

    def __init__(self, key: str, callback: object) -> None:
        self.key: str = key
        self.call: Callable[[], Any] = _as_call(callback, key)
        self.calls: int = 0
        #: A call runs, or is about to.
        self.busy: bool = False
        self.stopped: bool = False


def is_coroutine_function(callback: object) -> bool:
    """Tell whether a callback must be awaited."""
    call = getattr(callback, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(call)


def _as_call(callback: object, key: str) -> Callable[[], Any]:
    """Return a callback as a function without arguments.

    Raises:
        InvalidOptionError: it cannot be called with the key or without arguments.
    """
    if not callable(callback):
        raise InvalidOptionError(f"callback must be a function, not {callback!r}")
    try:
        signature = inspect.signature(callback)
    except ValueError:  # some functions that are written in C
        return lambda: callback(key)
    for arguments in ((), (key,)):
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return lambda: callback(*arguments)
    raise InvalidOptionError(f"callback must take no argument or one, the key; {callback!r} does not")


class Callbacks(ABC):
    """The listeners of one object in one process, from its first listener to its last one."""

    #: Whether callbacks may be coroutine functions.
    awaits: ClassVar[bool]

    def __init__(self, core: CoreNotifications) -> None:
        self.core = core
        self.ended: bool = False
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._listeners: dict[int, Listener] = {}

    def is_open(self) -> bool:
        """Tell whether there may be listeners here."""
        return not self.ended and self._pid == os.getpid()

    def is_usable(self) -> bool:
        """Tell whether further listeners can be added here."""
        return self.is_open()

    def add(self, channel: str, listener: Listener) -> int | None:
        """Add a listener; return its number, or None if the last one has just left here."""
        with self._lock:
            if self.ended:
                return None
            number = self.core.listen(channel, listener.key, quiet=True)
            self._listeners[number] = listener
        return number

    def remove(self, number: int) -> None:
        """Stop calling a listener. It may be called from its callback, more than once, and in a forked child."""
        if self._pid != os.getpid():
            return
        with self._lock:
            listener = self._listeners.pop(number, None)
            if listener is not None:
                listener.stopped = True
                self.core.stop(number)
            if not self._listeners:
                self._end()

    def end(self) -> None:
        """Call nobody any more."""
        if self._pid != os.getpid():
            return
        with self._lock:
            self._end()

    def _end(self) -> None:
        self.ended = True
        for listener in self._listeners.values():
            listener.stopped = True
        self._listeners.clear()
        self.core.close()

    def note(self, numbers: Iterable[int]) -> None:
        """Let the callbacks of these listeners be called once more each."""
        with self._lock:
            for number in numbers:
                listener = self._listeners.get(number)
                if listener is None:
                    continue
                listener.calls = min(listener.calls + 1, _MOST_CALLS)
                if not listener.busy:
                    listener.busy = True
                    self._begin(listener)

    def _takes_call(self, listener: Listener) -> bool:
        """Take one waiting call of a listener; False if there is none, and then it is no longer busy."""
        with self._lock:
            listener.busy = listener.calls > 0 and not listener.stopped
            listener.calls -= listener.busy
        return listener.busy

    @abstractmethod
    def _begin(self, listener: Listener) -> None:
        """Start to call a listener. Called under the lock."""


class ThreadCallbacks(Callbacks):
    """Calls callbacks on threads of their own, so that one that blocks holds up neither the others nor the reader."""

    awaits = False

    def __init__(self, core: CoreNotifications) -> None:
        super().__init__(core)
        from concurrent.futures import ThreadPoolExecutor  # few programs need it

        self._pool: ThreadPoolExecutor = ThreadPoolExecutor(_THREADS, thread_name_prefix="bullrush-callback")
        close_at_exit(self)
        threading.Thread(target=self._read, name="bullrush-notifications").start()

    def _read(self) -> None:
        try:
            while (numbers := self.core.next().wait()) is not None:
                self.note(numbers)
        finally:
            forget_at_exit(self)
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, listener: Listener) -> None:
        if not self.ended:
            self._pool.submit(self._run, listener)

    def _run(self, listener: Listener) -> None:
        while self._takes_call(listener):
            try:
                listener.call()
            except BaseException as error:  # also SystemExit: this thread belongs to nobody
                log_failure(listener, error)

    def _close_at_exit(self) -> None:
        """Let the thread that reads end."""
        self.end()


class LoopCallbacks(Callbacks):
    """Calls callbacks, which may be coroutine functions, on the event loop that was running at first."""

    awaits = True

    def __init__(self, core: CoreNotifications) -> None:
        super().__init__(core)
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._keep(self._read())

    def is_open(self) -> bool:
        """Tell whether there may be listeners here: not after the loop was closed."""
        if self._loop.is_closed():
            self.end()
        return super().is_open()

    def is_usable(self) -> bool:
        """Tell whether further listeners can be added here: on the same loop."""
        return super().is_usable() and self._loop is asyncio.get_running_loop()

    def _keep(self, coroutine: Any) -> None:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self) -> None:
        try:
            while (numbers := await result_of(self.core.next())) is not None:
                self.note(numbers)
        finally:  # also when the loop ends
            self.end()

    def _begin(self, listener: Listener) -> None:
        self._keep(self._run(listener))

    async def _run(self, listener: Listener) -> None:
        while self._takes_call(listener):
            # A task of its own: a callback that is cancelled must not end this loop.
            call = self._loop.create_task(_call(listener))
            await asyncio.wait({call})
            if not call.cancelled() and (error := call.exception()) is not None:
                log_failure(listener, error)


async def _call(listener: Listener) -> None:
    result = listener.call()
    if inspect.isawaitable(result):
        await result


def log_failure(listener: Listener, error: BaseException) -> None:
    """Log what a callback raised."""
    try:
        _log.error("The callback for %r failed", listener.key, exc_info=error)
    except Exception:  # logging reads attributes of the exception, which may run user code
        _log.error("The callback for %r failed with an exception that cannot be shown", listener.key)
