"""A worker of ours in its own process, with the handlers of a test. This file is also the program of that process."""

import json
import logging
import os
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from bullrush import Worker

from .ledger import Ledger
from .process import Process

ROOT = Path(__file__).parents[2]


class WorkerProcess(Process):
    """Runs a handler on a queue until it is ended.

    Args:
        url: the server.
        queue: the name of the queue.
        handler: where the handler is, as ``module:name``; with a ledger, the class of the handlers that write into it.
        folder: for its log.
        ledger: the file of the ledger.
        options: those of the worker.
    """

    def __init__(
        self, url: str, queue: str, handler: str, folder: Path, *, ledger: Path | None = None, **options: Any
    ) -> None:
        command = [sys.executable, "-u", "-m", "tests.driver.worker_process"]
        arguments = [url, queue, handler, str(ledger or ""), json.dumps(options)]
        super().__init__([*command, *arguments], folder / f"worker-{os.urandom(4).hex()}.log", cwd=ROOT)


def main(url: str, queue: str, handler: str, ledger: str, options: str) -> None:
    logging.basicConfig(level=logging.INFO)
    found, given = resolve_name(handler), json.loads(options)
    handlers = found(Ledger(ledger)) if ledger else found
    how = {"batch_handler": handlers.batch} if "batch_size" in given else {"handler": handlers}
    worker = Worker(queue, url=url, **how, **given)
    print("outcome", worker.run())


if __name__ == "__main__":
    main(*sys.argv[1:])
