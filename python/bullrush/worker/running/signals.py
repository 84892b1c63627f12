"""SIGTERM and SIGINT close the runs of this process.

Signal handlers are only set while the main thread waits for a run.
"""

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

from bullrush.base.repeated_signals import RepeatedSignals

if TYPE_CHECKING:
    from types import FrameType

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

_log: Final = logging.getLogger("bullrush")


class Closing(Protocol):
    """What signals need from a run."""

    def begin_close(self, timeout_ms: int | None = None, *, force: bool = False) -> None:
        """End the run."""


def has_default_handler(number: int) -> bool:
    """Tell whether a signal has Python's default handler, or that of `asyncio.run`."""
    handler = signal.getsignal(number)
    if handler in (signal.SIG_DFL, signal.default_int_handler):
        return True
    runner = getattr(asyncio, "Runner", None)  # Python 3.11
    owner = getattr(handler.func, "__self__", None) if isinstance(handler, functools.partial) else None
    return runner is not None and isinstance(owner, runner)


def any_handler(_number: int) -> bool:
    """Replace any handler of a signal."""
    return True


class _Signals:
    """The signal handlers of this process: the first signal closes all runs, the next one closes them by force."""

    def __init__(self) -> None:
        self._runs: list[Closing] = []
        #: How many runs the main thread waits for. The handlers are set while there are any.
        self._waited_for = 0
        self._before: dict[int, Any] = {}
        self._received: list[int] = []
        self._acted = 0
        self._acting = False
        self._repeated = RepeatedSignals()

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
                self.restore()

    def restore(self) -> None:
        """Set the handlers that the program had."""
        for number, handler in self._before.items():
            # Not if the program has set its own handler in the meantime.
            if signal.getsignal(number) == self._close:
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._before.clear()
        self._received.clear()
        self._acted = 0
        self._repeated = RepeatedSignals()

    def _close(self, number: int, _frame: FrameType | None) -> None:
        if self._repeated.repeats(number):
            return
        # A signal may interrupt the handling of another one, which may hold a lock: the interrupted one then handles
        # both.
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
        for run in list(self._runs):
            if first:
                run.begin_close()
            else:
                run.begin_close(0, force=True)
        # Only now is it so that no other job starts.
        if first:
            _log.info("%s: closing after the running jobs; a second signal closes now", name)
        else:
            _log.warning("%s: closing now; running jobs will run again on other workers", name)


_signals = _Signals()


def _start_anew() -> None:
    """Give a forked child the handlers that the program had: it has no runs that a signal could close."""
    global _signals
    with contextlib.suppress(ValueError):  # not the main interpreter
        _signals.restore()
    _signals = _Signals()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def closes_on_signals(
    run: Closing, takes: Callable[[int], bool] | None = None
) -> contextlib.AbstractContextManager[None]:
    """Close a run on SIGTERM or SIGINT: gracefully on the first signal, by force on the second.

    Args:
        run: the run.
        takes: for which signals a handler is set, if this is the main thread. None sets none: the run is closed
            together with runs that have handlers.
    """
    return _signals.closing(run, takes)


def ignores_signals(_run: Closing, _takes: object = None) -> contextlib.AbstractContextManager[None]:
    """Do not handle signals."""
    return contextlib.nullcontext()
