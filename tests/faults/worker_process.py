"""A worker in its own process that tests kill, stop and continue. This file is also the program of that process."""

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from redis import Redis


class WorkerProcess:
    """Runs `handlers.Handlers` on a queue until it is ended."""

    def __init__(self, url: str, queue: str, ledger: Path, **options: Any) -> None:
        self.log = ledger.with_name(f"worker-{os.urandom(4).hex()}.log")
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-u", __file__, url, queue, str(ledger), json.dumps(options)], stdout=log, stderr=log
            )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def said(self, text: str) -> bool:
        """Return whether the process has logged a text."""
        return text in self.log.read_text()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Stop it like a suspended machine, until `go_on`."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def terminate(self) -> None:
        """Ask it to finish its jobs and end."""
        self._process.terminate()

    def wait(self, seconds: float = 20) -> int:
        """Return its exit code."""
        return self._process.wait(seconds)


def is_connected(redis: Redis) -> bool:
    """Return whether a worker waits for jobs at this server."""
    return any(client["cmd"] == "bzpopmin" for client in redis.client_list())


def main(url: str, queue: str, ledger: str, options: str) -> None:
    from handlers import Handlers
    from ledger import Ledger

    from bullrush import Worker

    logging.basicConfig(level=logging.INFO)
    handlers, given = Handlers(Ledger(ledger)), json.loads(options)
    how = {"batch_handler": handlers.batch} if "batch_size" in given else {"handler": handlers}
    worker = Worker(queue, url=url, **how, **given)
    print("outcome", worker.run())


if __name__ == "__main__":
    main(*sys.argv[1:])
