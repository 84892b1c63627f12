"""What the handlers of all our workers do, and the lines they write into the ledger of their process.

A line is ``<fact> <monotonic ns> <key of the job> <run> <number of the start>``, written at once, so a killed process
leaves whole lines only. Facts: ``b`` a handler began, ``e`` it ended, ``d`` Redis has accepted the outcome.
"""

import itertools
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from bullrush import errors
from tests.forks import look_from_a_fork

#: With this code a process ends when a job makes it crash.
CRASHED = 13


class Ledger:
    """The ledger of one process."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._stem = os.path.basename(path).partition(".")[0]
        self._runs = itertools.count()

    def note(self, fact: str, key: str, run: str = "-", start: int = 0) -> None:
        os.write(self._file, f"{fact} {time.monotonic_ns()} {key} {run} {start}\n".encode())

    def new_run(self) -> str:
        """Return a name for a run that no other run of any process has."""
        return f"{self._stem}.{next(self._runs)}"

    def accepted(self, result: Any) -> None:
        if isinstance(result, dict) and "run" in result:
            self.note("d", result["k"], result["run"])


def begin(ledger: Ledger, job: Any, url: str) -> tuple[dict[str, Any], str]:
    """Note that a job begins and do what may end the process."""
    data = job.data
    run = ledger.new_run()
    ledger.note("b", data["k"], run, job.attempts_started)
    if data.get("kills") or (data.get("kills_once") and job.attempts_started == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    if data.get("exits_once") and job.attempts_started == 1:
        os._exit(CRASHED)
    if data.get("hungry_once") and job.attempts_started == 1:
        starve()
    if data.get("forks"):
        look_from_a_fork(job.queue_name, url)
    return data, run


def end(ledger: Ledger, job: Any, data: dict[str, Any], run: str) -> dict[str, Any]:
    """Note that a job ends, and return or raise its outcome."""
    ledger.note("e", data["k"], run)
    if data.get("hopeless"):
        raise errors.UnrecoverableError(json.dumps({"run": run}))
    if job.attempts_made < data.get("fails", 0):
        raise RuntimeError(json.dumps({"run": run}))
    return {"run": run, "k": data["k"]}


def starve() -> None:
    """Use memory until there is none, and then end as the kernel ends such a process."""
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), used + (64 << 20)))
    eaten = []
    try:
        while True:
            eaten.append(bytearray(4 << 20))
    except MemoryError:
        time.sleep(0.05)  # other threads of the process now get no memory either
        os.kill(os.getpid(), signal.SIGKILL)
