"""SIGTERM and SIGINT close the runs of this process. They belong to the program: only a run that its main thread waits for takes them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from types import FrameType

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

_log: Final = logging.getLogger("bullrush")


class Closing(Protocol):
    """A run, as signals see it."""

    def begin_close(self, timeout_ms: int | None = None, *, force: bool = False) -> None:
        """End it."""


def has_default_handler(number: int) -> bool:
    """Tell whether nobody but Python, or `asyncio.run`, handles a signal."""
    handler = signal.getsignal(number)
    if handler in (signal.SIG_DFL, signal.default_int_handler):
        return True
    runner = getattr(asyncio, "Runner", None)  # Python 3.11
    owner = getattr(handler.func, "__self__", None) if isinstance(handler, functools.partial) else None
    return runner is not None and isinstance(owner, runner)


def any_handler(_number: int) -> bool:
    """Take a signal from whoever has it."""
    return True


class _Signals:
    """What signals do in this process: the first one closes all runs, the next one by force."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._runs: list[Closing] = []
        #: How many of them the main thread waits for: they hold the signals.
        self._waited_for = 0
        self._before: dict[int, Any] = {}
        self._received: list[int] = []
        self._acted = 0
        self._acting = False

    @contextlib.contextmanager
    def closing(self, run: Closing, takes: Callable[[int], bool] | None) -> Iterator[None]:
        takes = takes if threading.current_thread() is threading.main_thread() else None
        self._runs.append(run)
        try:
            if takes is None:
                yield
            else:
                with self._taken(takes):
                    yield
        finally:
            self._runs.remove(run)

    @contextlib.contextmanager
    def _taken(self, takes: Callable[[int], bool]) -> Iterator[None]:
        self._waited_for += 1
        for number in _SIGNALS:
            if signal.getsignal(number) != self._close and takes(number):
                self._before[number] = signal.signal(number, self._close)
        try:
            yield
        finally:
            self._waited_for -= 1
            if not self._waited_for:
                self._return()

    def _return(self) -> None:
        for number, handler in self._before.items():
            # Unless the program has set one of its own meanwhile.
            if signal.getsignal(number) == self._close:
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._before.clear()
        self._received.clear()
        self._acted = 0

    def _close(self, number: int, _frame: FrameType | None) -> None:
        if self._pid != os.getpid():
            # A forked child inherits the handler but none of the runs.
            handler = self._before.get(number)
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
            os.kill(os.getpid(), number)
            return
        # A signal may interrupt the handling of the one before, in the middle of a lock: that one then sees to it.
        self._received.append(number)
        if self._acting:
            return
        self._acting = True
        try:
            while self._acted < len(self._received):
                self._act(signal.Signals(self._received[self._acted]).name, first=not self._acted)
                self._acted += 1
        finally:
            self._acting = False

    def _act(self, name: str, *, first: bool) -> None:
        if first:
            _log.info("%s: closing after the running jobs; once more closes now", name)
        else:
            _log.warning("%s: closing now; running jobs will run again elsewhere", name)
        for run in list(self._runs):
            if first:
                run.begin_close()
            else:
                run.begin_close(0, force=True)


_signals = _Signals()


def closes_on_signals(
    run: Closing, takes: Callable[[int], bool] | None = None
) -> contextlib.AbstractContextManager[None]:
    """Close a run on SIGTERM or SIGINT: gracefully on the first, by force on the second.

    Args:
        run: the run.
        takes: which signals it takes if this is the main thread; None: it takes none, and ends with those that do.
    """
    global _signals
    if _signals._pid != os.getpid():  # a forked child has no runs yet
        _signals = _Signals()
    return _signals.closing(run, takes)


def ignores_signals(_run: Closing, _takes: object = None) -> contextlib.AbstractContextManager[None]:
    """Leave the signals alone."""
    return contextlib.nullcontext()
