"""One run of a worker: from the first fetch to the last outcome."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bullrush.base.at_exit import close_at_exit, forget_at_exit
from bullrush.base.emitter import Listeners
from bullrush.worker.runners import Runner

if TYPE_CHECKING:
    from bullrush._core import CoreWorker, Pending, WorkerEvent

#: How long the supervising thread stays away from Python at most, so that it meets signals soon.
_WAIT_MS: Final = 100
#: Seconds between two looks whether listeners on a loop have caught up.
_POLL: Final = 0.005

_log: Final = logging.getLogger("bullrush")


@dataclass(frozen=True)
class RunStats:
    """What a run did.

    Attributes:
        completed: jobs completed.
        failed: jobs failed for good.
        retried: attempts that failed and will be repeated.
        seconds: how long it took.
    """

    completed: int
    failed: int
    retried: int
    seconds: float


class WorkerRun:
    """Supervises one run: reports what the core tells, and closes the core when the handlers are done or someone asks."""

    def __init__(
        self,
        core: CoreWorker,
        runner: Runner,
        report: Callable[[WorkerEvent | None], None],
        tell_closed: Callable[[], None],
        listeners: Listeners,
    ) -> None:
        self.core = core
        self.runner = runner
        self._report = report
        self._tell_closed = tell_closed
        self._listeners = listeners
        self._pid = os.getpid()
        self._began = time.monotonic()
        self._closing: Pending[None] | None = None
        self._forced = False
        #: When nobody waits any more, for handlers or listeners.
        self._deadline = math.inf
        #: Nobody is left who could be told anything.
        self._silent = False
        #: What the run ends with.
        self._error: BaseException | None = None
        # A signal may close the run in the middle of another close.
        self._lock = threading.RLock()
        self._supervisor: threading.Thread | None = None
        self._finished = threading.Event()
        runner.ended = self.begin_close
        runner.broke = self.end_with
        close_at_exit(self)

    @property
    def finished(self) -> bool:
        """True once the last outcome is stored, or once nobody waits for it any more."""
        return self._finished.is_set() or self.overdue

    @property
    def told(self) -> bool:
        """True once listeners have heard of the end."""
        return self._finished.is_set()

    @property
    def closing(self) -> bool:
        """True once no more jobs are taken."""
        return self._closing is not None

    @property
    def overdue(self) -> bool:
        """True once the core has ended and the time to close is over, whatever listeners still do."""
        return self._closing is not None and self._closing.done() and time.monotonic() >= self._deadline

    def begin_close(self, timeout_ms: int | None = None, *, force: bool = False) -> None:
        """Take no more jobs and end the run, without waiting for it.

        Args:
            timeout_ms: how long running handlers, and listeners after them, may go on; None: as long as they want.
            force: do not wait for them at all.
        """
        with self._lock:
            if self._closing is None or (force and not self._forced) or timeout_ms is not None:
                self._forced = force
                self._closing = self.core.close(timeout_ms, force)
                patience = 0 if force else math.inf if timeout_ms is None else timeout_ms / 1000
                self._deadline = min(self._deadline, time.monotonic() + patience)

    def end_with(self, error: BaseException) -> None:
        """Close the run, which then raises this: a thread could not be started, a listener says that the program ends."""
        with self._lock:
            if self._error is None:
                self._error = error
        self.begin_close()

    def ended(self) -> Pending[None]:
        """Return the end of the core, closing it if nobody has."""
        self.begin_close()
        assert self._closing is not None
        return self._closing

    def start(self) -> None:
        """Start handlers. If they cannot all be started, the run ends in order, and `supervise` raises why."""
        try:
            self.runner.start()
        except BaseException as error:
            self.end_with(error)

    def supervise(self) -> None:
        """Report events until the run has ended.

        Raises:
            BullrushError: the worker cannot work with this server or queue.
            BaseException: what broke the run off.
        """
        self._supervisor = threading.current_thread()
        try:
            while self._follow():
                pass
        finally:
            # Whoever waits for the end has been told of it when it comes.
            try:
                self._tell_closed()
            except BaseException as error:
                self.end_with(error)
            self._finished.set()
            forget_at_exit(self)
        stats = self.core.stats()
        if stats["in_hand"] or stats["overdue"]:
            # The deadline has passed. Tasks can be stopped; threads end when their function returns.
            self.runner.cancel_all()
        else:
            self.runner.join()
        if self._error is not None:
            raise self._error
        if self._closing is not None:
            self._closing.result()

    def _follow(self) -> bool:
        """Report one event if there is one; False once there will be no more, or no more time for them."""
        if self.overdue:
            self._tell_silence()
            return False
        if self._listeners.behind and not self._silent:
            # The events wait in the core, which takes no more jobs when there are many.
            time.sleep(_POLL)
            return True
        event = self._next_event()
        try:
            self._report(event)
        except BaseException as error:
            self.end_with(error)
        if event is not None:
            return True
        if self._closing is not None and self._closing.done():
            return False
        if self.runner.is_lost():
            self.abandon()
        return True

    def _next_event(self) -> WorkerEvent | None:
        try:
            return self.core.next_event(_WAIT_MS)
        except BaseException as error:
            # Ctrl-C, where signals are left alone: the second one ends the run now, as it does elsewhere.
            if self._error is not None:
                self.begin_close(0, force=True)
            self.end_with(error)
            return None

    def _tell_silence(self) -> None:
        if untold := self.core.stats()["undelivered"]:
            _log.warning("Listeners were not told of %d jobs: the time to close was over", untold)

    def abandon(self) -> None:
        """End the run of a loop that is gone: what its tasks had goes back to the queue."""
        self._silent = True
        self.begin_close()
        self.runner.give_back()

    def is_inside(self) -> bool:
        """Tell whether a handler or a listener of this run asks: the run cannot end while that waits for it."""
        return threading.current_thread() is self._supervisor or self.runner.is_current()

    def stats(self) -> RunStats:
        """Return what was done up to now."""
        counts = self.core.stats()
        return RunStats(counts["completed"], counts["failed"], counts["retried"], time.monotonic() - self._began)

    def close_at_exit(self) -> None:
        """Let the threads of a run end that nobody closed. In a forked child there are none."""
        if self._pid == os.getpid():
            self.begin_close()
            if self.runner.is_lost(at_exit=True):
                self.abandon()
