"""``bullrush worker -p N`` and ``--reload``: a process that runs others and replaces those that die."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from bullrush.cli.terminal.ending import NO_REDIS, USAGE
from bullrush.cli.worker.ending import ABANDONED, ENDED, FAILED
from bullrush.cli.worker.processes.child import Child
from bullrush.cli.worker.processes.control import FORCE, STOP
from bullrush.cli.worker.processes.steps import Steps
from bullrush.extending import RepeatedSignals, hard_exit, merged_metrics, without_gauges

if TYPE_CHECKING:
    from types import FrameType

#: Seconds for the processes to end by themselves when all is ended by force.
_LAST_CALLS: Final = hard_exit.GRACE + hard_exit.GIVING_BACK
#: Seconds after which a process that should have ended is killed.
_SLACK: Final = _LAST_CALLS + 0.2
#: What a process of the command may end with. Any other end is the handler's doing, and leaves jobs.
_OWN_CODES: Final = frozenset({ENDED, FAILED, USAGE, NO_REDIS, ABANDONED})

_log: Final = logging.getLogger("bullrush.worker")


class Supervisor:
    """Runs N processes until a signal comes, or until all have emptied their queues.

    Everything that happens is a step in a queue, which the main thread takes: nothing here needs a lock.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.children: list[Child] = [Child(number, options) for number in range(1, options.processes + 1)]
        self._reload: Final[bool] = options.reload
        self._burst: Final[bool] = options.burst
        self._max_jobs: Final[int | None] = options.max_jobs
        self._steps: Steps[Callable[[], None]] = Steps()
        self._running = 0
        self._ended = False
        #: Children that wait to be started again.
        self._due = 0
        self._address: tuple[str, int] | None = options.health_port
        self._timeout: float | None = options.shutdown_timeout
        self._signals = 0
        self._repeated = RepeatedSignals()
        self._restarting = False
        self.code: int = ENDED

    @property
    def closing(self) -> bool:
        """True once a signal has come or a target cannot be imported."""
        return self._ended

    def health(self) -> list[Any]:
        """Return the health of each worker of each process."""
        # A process that still starts has no health yet. One that does not answer any more has: nothing runs there.
        pages = zip(self.children, self._ask("health"), strict=True)
        return [child.silent() if page is None and child.answered else page for child, page in pages]

    def metrics(self) -> str:
        """Return the metrics of all processes, those that have died included, and of the queues."""
        answered = []
        for child, page in zip(self.children, self._ask("metrics"), strict=True):
            # One that is silent has counted, but what it does now is not known.
            child.page = page or without_gauges(child.page)
            answered += [child] if page else []
        queues = next((page for child in answered if (page := child.ask("queues"))), "")
        return merged_metrics([queues, *(page for child in self.children for page in (child.past, child.page))])

    def _ask(self, question: str) -> list[Any]:
        with ThreadPoolExecutor(len(self.children)) as asking:
            return list(asking.map(lambda child: child.ask(question), self.children))

    def run(self) -> int:
        """Run until all processes have ended; return the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)
        if self._reload:
            from bullrush.cli.worker.processes.reload import watch

            watch(lambda path: self._steps.put(lambda: self._changed(path)))
        if self._address is not None:
            from bullrush.cli.worker.http import serve

            serve(self._address, self)
        for child in self.children:
            self._start(child)
        while self._running or self._due or (self._reload and not self._ended):
            self._steps.next()()
        return self.code

    def _start(self, child: Child) -> None:
        process = child.start()
        self._running += 1

        def wait() -> None:
            code = process.wait()
            self._steps.put(lambda: self._died(child, code))

        threading.Thread(target=wait, daemon=True).start()

    def _start_again(self, child: Child) -> None:
        self._due -= 1
        if not self._ended and child.process is None:
            self._start(child)

    def _died(self, child: Child, code: int) -> None:
        self._running -= 1
        pause = child.died()
        if (self._ended or self._burst) and code in _OWN_CODES:
            self.code = max(self.code, code)
        elif self._ended:
            _log.error("Process %d of %d %s", child.number, len(self.children), _how(code))
            self.code = max(self.code, ABANDONED)
        elif self._max_jobs and code == ENDED and not self._restarting:
            _log.info(
                "Process %d of %d has run its jobs: another one takes its place", child.number, len(self.children)
            )
            child.forget_deaths()
            self._start(child)
        elif self._restarting or (self._reload and code == ENDED):
            self._restarting = self._running > 0
            child.forget_deaths()
            self._start(child)
        elif self._reload:
            _log.error("The process %s. It is started again when a file changes", _how(code))
        elif code == USAGE:
            # Its message says why. It would be the same next time.
            self.code = USAGE
            self._close()
        else:
            text = "Process %d of %d %s. Starting another one in %g s"
            _log.error(text, child.number, len(self.children), _how(code), pause)
            self._due += 1
            if pause:
                self._later(pause, lambda: self._start_again(child))
            else:
                self._start_again(child)

    def _later(self, seconds: float, step: Callable[[], None]) -> None:
        timer = threading.Timer(seconds, lambda: self._steps.put(step))
        timer.daemon = True
        timer.start()

    def _changed(self, path: str) -> None:
        if self._ended:
            return
        _log.info("%s has changed: restarting after the running jobs", os.path.relpath(path))
        for child in self.children:
            if child.process is None:
                self._start(child)
            else:
                self._restarting = True
                child.say(STOP)

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        if self._repeated.repeats(number):
            return
        self._signals += 1
        name = signal.Signals(number).name
        self._steps.put(lambda: self._close(name) if self._signals == 1 else self._end_now(name))

    def _close(self, name: str = "") -> None:
        if name:
            shown = "1 process after its" if self._running == 1 else f"{self._running} processes after their"
            _log.info("%s: closing %s running jobs; a second signal closes now", name, shown)
        self._ended = True
        self._due = 0
        for child in self.children:
            child.say(STOP)
        if self._timeout is not None:
            # The processes keep the time themselves, but for one that does not answer any more.
            self._later(self._timeout + _SLACK, self._kill)

    def _end_now(self, name: str) -> None:
        _log.warning("%s: closing now; running jobs will run again on other workers", name)
        self._ended = True
        processes = [child.process for child in self.children if child.process is not None]
        for child in self.children:
            child.say(FORCE)
        deadline = time.monotonic() + _LAST_CALLS
        while any(process.poll() is None for process in processes) and time.monotonic() < deadline:
            time.sleep(0.01)
        self._kill()

    def _kill(self) -> None:
        for child in self.children:
            if child.process is not None and child.process.poll() is None:
                child.process.kill()


def _how(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
