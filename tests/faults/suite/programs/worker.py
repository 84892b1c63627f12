"""Workers of ours in their own process, until SIGTERM.

usage: worker.py <sync|aio|spark> <url> <ledger file> <JSON: {queue, ...options}>
"""

import asyncio
import faulthandler
import json
import logging
import signal
import sys
import threading
import time
from typing import Any

from handler import begin, end

from bullrush import Worker, aio
from tests.faults.suite.ledger import Ledger


def make_worker(url: str, ledger: Ledger, queue: str, options: dict[str, Any]) -> Worker:
    """Return a worker with threads that writes into a ledger."""

    def work(job: Any) -> dict[str, Any]:
        data, run = begin(ledger, job, url)
        time.sleep(data.get("ms", 0) / 1000)
        return end(ledger, job, data, run)

    worker = Worker(queue, work, url=url, **options)
    worker.on("completed", lambda _job, result: ledger.accepted(result))
    return worker


def run_threads(url: str, ledger: Ledger, queue: str, options: dict[str, Any]) -> None:
    make_worker(url, ledger, queue, options).run()


async def run_tasks(url: str, ledger: Ledger, queue: str, options: dict[str, Any]) -> None:
    async def work(job: Any) -> dict[str, Any]:
        data, run = begin(ledger, job, url)
        await asyncio.sleep(data.get("ms", 0) / 1000)
        return end(ledger, job, data, run)

    worker = aio.Worker(queue, work, url=url, **options)
    worker.on("completed", lambda _job, result: ledger.accepted(result))
    await worker.run()


def run_partitions(url: str, ledger: Ledger, queue: str, options: dict[str, Any]) -> None:
    """Run what Spark runs in its tasks, one task after the other."""
    from bullrush.spark import worker

    def work(job: Any) -> dict[str, Any]:
        data, run = begin(ledger, job, url)
        time.sleep(data.get("ms", 0) / 1000)
        return end(ledger, job, data, run)

    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    while not stopped.is_set():
        task = worker(queue, work, url=url, until=None, max_seconds=15, **options)
        try:
            for result in task(iter([0])):
                ledger.accepted(result.result)
        except Exception as error:  # Spark then runs the task again
            print("the task failed:", repr(error)[:500], file=sys.stderr)
            stopped.wait(0.2)


def main(kind: str, url: str, ledger: str, settings: str) -> None:
    faulthandler.register(signal.SIGUSR1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    options = json.loads(settings)
    queue, lines = options.pop("queue"), Ledger(ledger)
    if kind == "aio":
        asyncio.run(run_tasks(url, lines, queue, options))
    else:
        {"sync": run_threads, "spark": run_partitions}[kind](url, lines, queue, options)


if __name__ == "__main__":
    main(*sys.argv[1:])
