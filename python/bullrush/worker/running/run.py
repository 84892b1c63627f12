"""One run of a worker: its handlers, its events and its end. `RunCalls._start_fetching` begins it."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bullrush._core import take_notes
from bullrush.base.at_exit import close_at_exit, forget_at_exit
from bullrush.base.listeners import Listeners
from bullrush.worker.monitoring.scripts import ScriptTimes, script_times
from bullrush.worker.running.loop_watch import LoopWatch
from bullrush.worker.running.loops import LoopRunner
from bullrush.worker.running.runner import Runner
from bullrush.worker.running.slot_watch import SlotWatch
from bullrush.worker.running.threads import ThreadRunner

if TYPE_CHECKING:
    from bullrush._core import CoreWorker, Pending, WorkerEvent

#: The longest wait of the supervising thread outside Python, so that it handles signals soon.
_WAIT_MS: Final = 100
#: The same after the last event: only the end of the core is awaited, which takes no time.
_LAST_WAIT_MS: Final = 1
#: Seconds between two checks whether listeners on a loop have caught up.
_POLL: Final = 0.005

_log: Final = logging.getLogger("bullrush")


@dataclass(frozen=True)
class RunStats:
    """What a run of a worker did.

    Attributes:
        completed: how many jobs completed.
        failed: how many jobs failed for good.
        retried: how many attempts failed and are retried.
        seconds: how long the run took.
        scripts: its calls of Redis scripts, by their names, such as ``finish/move_to_finished``.
    """

    completed: int
    failed: int
    retried: int
    seconds: float
    scripts: Mapping[str, ScriptTimes] = field(default_factory=dict, repr=False)


class WorkerRun:
    """Supervises one run: reports the events of the core, and closes the core at the end or on request."""

    def __init__(
        self,
        core: CoreWorker,
        runner: Runner,
        report: Callable[[WorkerEvent | None], None],
        on_closed: Callable[[], None],
        listeners: Listeners,
    ) -> None:
        self.core = core
        self.runner = runner
        #: None if no handler runs on an event loop.
        self.loop_watch: LoopWatch | None = LoopWatch(runner) if isinstance(runner, LoopRunner) else None
        threads = runner if isinstance(runner, ThreadRunner) else getattr(runner, "plain", None)
        self._slot_watch: SlotWatch | None = None if threads is None else SlotWatch(core, threads)
        self._report = report
        self._on_closed = on_closed
        self._listeners = listeners
        self._pid = os.getpid()
        self._began = time.monotonic()
        self._closing: Pending[None] | None = None
        self._forced = False
        #: When the run stops waiting for handlers and listeners.
        self._deadline = math.inf
        self._wait_ms = _WAIT_MS
        #: The event loop is gone, and the listeners with it.
        self._listeners_gone = False
        #: The exception that `supervise` raises at the end.
        self._error: BaseException | None = None
        # Reentrant: a signal handler may close the run in the middle of another close.
        self._lock = threading.RLock()
        self._supervisor: threading.Thread | None = None
        self._finished = threading.Event()
        runner.on_end = self.begin_close
        runner.on_error = self.end_with
        close_at_exit(self)

    @property
    def finished(self) -> bool:
        """True once the last result is stored, or once the time to close is over."""
        return self._finished.is_set() or self.overdue

    @property
    def is_reported(self) -> bool:
        """True once the listeners of ``closed`` were called."""
        return self._finished.is_set()

    @property
    def closing(self) -> bool:
        """True once the run takes no more jobs."""
        return self._closing is not None

    @property
    def age_ms(self) -> int:
        """How long ago the run began."""
        return round((time.monotonic() - self._began) * 1000)

    @property
    def overdue(self) -> bool:
        """True once the core has ended and the time to close is over, even if listeners still run."""
        return self._closing is not None and self._closing.done() and time.monotonic() >= self._deadline

    def begin_close(self, timeout_ms: int | None = None, *, force: bool = False) -> None:
        """Take no more jobs and end the run. Does not wait for the end.

        Args:
            timeout_ms: how long running handlers, and listeners after them, may go on; None is no limit.
            force: do not wait for them at all.
        """
        with self._lock:
            if self._closing is None or (force and not self._forced) or timeout_ms is not None:
                self._forced = force
                self._closing = self.core.close(timeout_ms, force)
                seconds = 0 if force else math.inf if timeout_ms is None else timeout_ms / 1000
                self._deadline = min(self._deadline, time.monotonic() + seconds)
        self.runner.stop_starting()

    def end_with(self, error: BaseException) -> None:
        """Close the run because of an error, which `supervise` then raises."""
        with self._lock:
            if self._error is None:
                self._error = error
        self.begin_close()

    def core_end(self) -> Pending[None]:
        """Close the core if it is not closing, and return its pending end."""
        self.begin_close()
        assert self._closing is not None
        return self._closing

    def start_handlers(self) -> None:
        """Start the handlers. If that fails, the run ends in order and `supervise` raises the error."""
        if self._error is not None:
            return
        try:
            self.runner.start()
        except BaseException as error:
            self.end_with(error)

    def supervise(self) -> None:
        """Report events until the run has ended.

        Raises:
            BullrushError: the worker cannot work with this server or queue.
            BaseException: the error given to `end_with`.
        """
        self._supervisor = threading.current_thread()
        try:
            while self._report_next():
                pass
        finally:
            # Before `finished`: who waits for the end sees that listeners were called.
            try:
                self._on_closed()
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

    def _report_next(self) -> bool:
        """Report one event if there is one; False once there will be no more, or the time to close is over."""
        if self.loop_watch is not None:
            self.loop_watch.look()
        if self._slot_watch is not None:
            self._slot_watch.look()
        if self.overdue:
            self._log_undelivered()
            return False
        if self._listeners.behind and not self._listeners_gone:
            # The events stay in the core, which fetches no more jobs when there are many of them.
            time.sleep(_POLL)
            return True
        event = self._next_event()
        if event is None:
            for note in take_notes():
                _log.warning("%s", note)
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
            event = self.core.next_event(self._wait_ms)
        except BaseException as error:
            # Ctrl-C without signal handlers of ours: the second one closes by force, as with them.
            if self._error is not None:
                self.begin_close(0, force=True)
            self.end_with(error)
            return None
        if event is not None and event.kind == "closed":
            self._wait_ms = _LAST_WAIT_MS
            # A run that ended by itself waits for no handler: the job of one that still runs has timed out.
            self.begin_close()
        return event

    def _log_undelivered(self) -> None:
        if undelivered := self.core.stats()["undelivered"]:
            _log.warning("Listeners did not get the events of %d jobs: the time to close was over", undelivered)

    def abandon(self) -> None:
        """End a run whose event loop is gone: the jobs of its tasks go back to the queue."""
        self._listeners_gone = True
        self.begin_close()
        self.runner.give_back()

    def is_inside(self) -> bool:
        """Tell whether the caller is a handler or a listener of this run: it must not wait for the end of the run."""
        return threading.current_thread() is self._supervisor or self.runner.is_current()

    def stats(self) -> RunStats:
        """Return what the run has done so far."""
        counts, seconds = self.core.stats(), time.monotonic() - self._began
        return RunStats(counts["completed"], counts["failed"], counts["retried"], seconds, script_times(self.core))

    def _close_at_exit(self) -> None:
        """Close a run that is still open at the end of the program. A forked child has no threads to end."""
        if self._pid == os.getpid():
            self.begin_close()
            if self.runner.is_lost(at_exit=True):
                self.abandon()
