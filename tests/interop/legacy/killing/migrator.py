"""Migrators in processes of their own, which tests kill; each is a fork of one that has imported bullrush already.

``python -m tests.interop.legacy.killing.migrator`` reads orders, JSON lines, and answers each with the pid of the
migrator and, when that has ended, its exit code.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[4]


class Migrators:
    """Starts migrators, one at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.interop.legacy.killing.migrator"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = ThreadPoolExecutor(1)

    def run(self, order: Mapping[str, Any], until: "Future[None]") -> int:
        """Run a migrator, and kill it when the future is done; return its exit code, -9 if it was killed."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        pid = self._read()
        code = self._reader.submit(self._read)
        wait((code, until), timeout=20, return_when=FIRST_COMPLETED)
        if not code.done():
            # Until the exit code is read nobody else can get this pid: its parent has not waited for it.
            os.kill(pid, signal.SIGKILL)
        return code.result(10)

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()
        self._reader.shutdown()

    def _read(self) -> int:
        assert self._process.stdout
        return int(self._process.stdout.readline())


def call(
    queue: str, legacy: Mapping[str, Any], target: Mapping[str, Any], options: Mapping[str, Any], name: str
) -> None:
    """Move a queue, or give claimed jobs back."""
    from bullrush import Queue
    from bullrush.legacy import LegacyQueue

    with LegacyQueue(queue, **legacy) as source, Queue(queue, **target) as to:
        getattr(source, name)(to, **options)


def main() -> None:
    from bullrush.legacy.migrating.abandoned import WAIT

    WAIT.update(dict.fromkeys(WAIT, 0.01))  # seconds for which a job of a dead worker has to be without a lock
    for line in sys.stdin:
        order = json.loads(line)
        if (pid := os.fork()) == 0:
            call(**order)
            os._exit(0)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
