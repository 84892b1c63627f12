"""Workers of ours in their own process, which tests kill; node/fleet_worker.js is the same for real BullMQ.

usage: python -m tests.interop.fleet.worker <sync|aio> <redis url> <ledger file> <options>

The options are JSON: {queues, concurrency, lock_duration, profile, ...}.
"""

import asyncio
import faulthandler
import json
import os
import signal
import sys
import threading
import time
from typing import Any

from bullrush import Worker, aio, errors
from tests.driver.ledger import Ledger
from tests.forks import look_from_a_fork

from .fleet import CRASHED

Outcome = dict[str, Any]


class UnreadableError(Exception):
    """An exception whose text and attributes cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError("unreadable")

    __repr__ = __str__

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


def outcome_of(job: Any, url: str) -> Outcome:
    """Do what the job's data says, except its sleep."""
    data = job.data
    if data.get("exits") and job.attempts_started == 1:
        os._exit(CRASHED)
    if data.get("forks"):
        look_from_a_fork(job.queue_name, url)
    if data.get("unreadable"):
        raise UnreadableError
    if data.get("hopeless"):
        raise errors.UnrecoverableError("hopeless")
    if job.attempts_made < data.get("fails", 0):
        raise RuntimeError(f"attempt {job.attempts_made}")
    return {"n": data.get("n")}


def run_threads(url: str, ledger: Ledger, queues: list[str], options: dict[str, Any]) -> None:
    """Run one worker per queue, with plain functions on threads."""

    def work(job: Any) -> Outcome:
        ledger.begin(f"{job.queue_name}:{job.id}")
        time.sleep(job.data.get("ms", 0) / 1000)
        return outcome_of(job, url)

    workers = [Worker(queue, work, url=url, autorun=True, **options) for queue in queues]
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    ledger.note("ready")
    stopped.wait()
    for worker in workers:
        worker.close()


async def run_tasks(url: str, ledger: Ledger, queues: list[str], options: dict[str, Any]) -> None:
    """Run one worker per queue, with coroutine functions on this loop."""

    async def work(job: Any) -> Outcome:
        ledger.begin(f"{job.queue_name}:{job.id}")
        await asyncio.sleep(job.data.get("ms", 0) / 1000)
        return outcome_of(job, url)

    workers = [aio.Worker(queue, work, url=url, autorun=True, **options) for queue in queues]
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    ledger.note("ready")
    await stopped.wait()
    for worker in workers:
        await worker.close()


def main(kind: str, url: str, ledger: str, settings: str) -> None:
    """Run workers until SIGTERM."""
    faulthandler.register(signal.SIGUSR1)
    options = json.loads(settings)
    queues = options.pop("queues")
    if kind == "aio":
        asyncio.run(run_tasks(url, Ledger(ledger), queues, options))
    else:
        run_threads(url, Ledger(ledger), queues, options)


if __name__ == "__main__":
    main(*sys.argv[1:])
