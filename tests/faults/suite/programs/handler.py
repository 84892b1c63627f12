"""What the handlers of all our workers do, and note in the ledger of their process."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from bullrush import errors
from tests.faults.suite.ledger import Ledger
from tests.forks import look_from_a_fork

#: With this code a process ends when a job makes it crash.
CRASHED = 13


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
