"""One process of the command: runs the workers until they end or a signal comes."""

from __future__ import annotations

import argparse
import logging
import signal
import time
from typing import TYPE_CHECKING, Any, Final, NoReturn

from bullrush.cli.worker.ending import ABANDONED, leave, leave_in_time
from bullrush.cli.worker.fleet import Fleet
from bullrush.cli.worker.monitor import Monitor
from bullrush.cli.worker.processes.control import FORCE, STOP, ControlClient
from bullrush.cli.worker.processes.steps import Steps
from bullrush.cli.worker.targets import AnyWorker
from bullrush.extending import RepeatedSignals, hard_exit, merged_metrics

if TYPE_CHECKING:
    from types import FrameType

#: An order for the main thread, beside those of the supervisor.
_ENDED: Final = "ended"

#: Seconds for outcomes on their way to Redis when the process is ended by force.
_LAST_CALLS: Final = 0.5

_log: Final = logging.getLogger("bullrush.worker")


class Process:
    """The main thread of a process: it waits for signals and other orders."""

    def __init__(
        self, workers: list[AnyWorker], options: argparse.Namespace, supervisor: ControlClient | None = None
    ) -> None:
        self._orders: Steps[str] = Steps()
        self._timeout: float | None = options.shutdown_timeout
        self._supervisor = supervisor
        self._signals = 0
        self._repeated = RepeatedSignals()
        self._over = False
        self._address: tuple[str, int] | None = options.health_port
        self._closing_since: float | None = None
        self._monitor = Monitor(workers)
        self.fleet: Fleet = Fleet(
            workers, lambda: self._orders.put(_ENDED), burst=options.burst, max_jobs=options.max_jobs
        )

    def order(self, order: str) -> None:
        """Tell the main thread what to do; from any thread, and from signal handlers."""
        if self._over and order == FORCE:
            leave(self.fleet.code)
        self._orders.put(order)

    @property
    def closing(self) -> bool:
        """True once no more jobs are taken."""
        return self._over or self._closing_since is not None

    def health(self) -> list[list[dict[str, Any]] | None]:
        """Return the health of each worker of this process."""
        return [self._monitor.health()]

    def metrics(self) -> str:
        """Return the metrics of this process and of its queues."""
        return merged_metrics([self._monitor.queues(), self._monitor.metrics()])

    def _answer(self, question: str) -> object:
        """Answer a question of the supervisor."""
        return getattr(self._monitor, question)() if question in {"health", "metrics", "queues"} else None

    def run(self) -> int:
        """Run until all workers have ended; return the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)
        hard_exit.set_up(self._timeout, ABANDONED)
        if self._supervisor is not None:
            self._supervisor.hand_over(self.order, self._answer)
        if self._address is not None:
            from bullrush.cli.worker.http import serve

            # Before a job is taken: the port may be in use.
            serve(self._address, self)
        self.fleet.start()
        while not self.fleet.ended:
            order = self._orders.next()
            if order == FORCE:
                self._end_now()
            elif not self.closing and (order == STOP or self.fleet.code or self.fleet.is_worn):
                self._close()
        return self._ended()

    def _ended(self) -> int:
        """Return the exit code, which the process then has whatever keeps it."""
        rest = self._timeout
        if rest is not None and self._closing_since is not None:
            rest -= time.monotonic() - self._closing_since
            if rest <= 0 and self.fleet.has_left_jobs:
                leave(ABANDONED)
        self._over = self._monitor.over = True
        leave_in_time(self.fleet.code, rest)
        return self.fleet.code

    def _close(self) -> None:
        # Before the workers set their deadline, which is then never the earlier one.
        self._closing_since = time.monotonic()
        self.fleet.close(self._timeout)

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        if self._repeated.repeats(number):
            return
        self._signals += 1
        name = signal.Signals(number).name
        if self._over:
            leave(self.fleet.code)
        elif self._signals == 1:
            self.order(STOP)
            _log.info("%s: closing after the running jobs; a second signal closes now", name)
        else:
            self.order(FORCE)
            _log.warning("%s: closing now; running jobs will run again on other workers", name)

    def _end_now(self) -> NoReturn:
        # If this takes too long, say because nobody reads the log, the last resort ends it, or the supervisor.
        self.fleet.close(force=True)
        deadline = time.monotonic() + _LAST_CALLS
        while not self.fleet.ended and time.monotonic() < deadline:
            time.sleep(0.01)
        leave(ABANDONED)
