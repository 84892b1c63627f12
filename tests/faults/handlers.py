"""Handlers of the fault tests; the name of a job selects what it does."""

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bullrush import Job
from tests.driver.ledger import Ledger

GIL_SECONDS = 7


class Handlers:
    """Handlers that write into a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def __call__(self, job: Job) -> object:
        self._ledger.begin(job.id)
        handler: Callable[[Job], object] = getattr(self, job.name)
        result = handler(job)
        self._ledger.end(job.id)
        return result

    def batch(self, jobs: list[Job]) -> list[object]:
        """Handle a batch, one after the other."""
        return [self(job) for job in jobs]

    def quick(self, job: Job) -> str:
        return f"result-of-{job.id}"

    def brief(self, _job: Job) -> None:
        """Take 2 ms, so that there is always a running job."""
        time.sleep(0.002)

    def slow(self, _job: Job) -> None:
        time.sleep(0.06)

    def deadly(self, _job: Job) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def exiting(self, _job: Job) -> None:
        """End the process as a crashing C extension does."""
        os._exit(1)

    def failing(self, job: Job) -> None:
        self._ledger.end(job.id)
        raise ValueError(f"failure-of-{job.id}")

    def gated(self, job: Job) -> str:
        """Run until the gate file exists; then fail the first time if the data says so."""
        gate = Path(job.data["gate"])
        while not gate.exists():
            time.sleep(0.01)
        if "fail" in job.data and job.attempts_made == 0:
            self._ledger.end(job.id)
            raise ValueError("asked to")
        return f"result-of-{job.id}"

    def hold_the_gil(self, _job: Job) -> None:
        """Hold the GIL in one C call, and measure that no other thread of Python ran meanwhile."""
        ticker = Ticker()
        ctypes.PyDLL(None).sleep(GIL_SECONDS)  # PyDLL, unlike CDLL, keeps the GIL
        self._ledger.note(f"gap {ticker.longest_gap()}")


class Ticker:
    """A thread that measures for how long it cannot run."""

    def __init__(self) -> None:
        self._longest = 0.0
        self._ends = threading.Event()
        self._ticks = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)
        self._thread.start()
        self._ticks.wait()

    def _tick(self) -> None:
        last = time.monotonic()
        while not self._ends.wait(0.001):
            self._ticks.set()
            now = time.monotonic()
            self._longest, last = max(self._longest, now - last), now

    def longest_gap(self) -> float:
        self._ticks.clear()
        self._ticks.wait()  # the tick that measures the gap
        self._ends.set()
        self._thread.join()
        return self._longest
