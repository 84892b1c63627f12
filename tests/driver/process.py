"""A process that tests start, kill, suspend and end: workers and producers of any kind, ours and those of Node."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from .spawn import spawn


class Process:
    """A running process.

    Args:
        command: the program with its arguments.
        log: where its output goes; the stem is the name of the process.
        how: further arguments of `subprocess.Popen`.

    Attributes:
        suspended: it was stopped and does not go on yet.
        hung: it did not end when it was asked to, and was killed.
    """

    def __init__(self, command: list[str], log: Path, **how: Any) -> None:
        self.name, self.log, self.suspended, self.hung = log.stem, log, False, False
        self._prints_stacks = command[0] == sys.executable
        with open(log, "wb") as output:
            self._process = spawn(command, stdout=output, stderr=output, **how)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code, None while it runs."""
        return self._process.poll()

    @property
    def alive(self) -> bool:
        return self.code is None

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()
        self._process.wait()

    def suspend(self) -> None:
        """Stop it like a suspended machine, until `go_on`."""
        self.suspended = True
        self._process.send_signal(signal.SIGSTOP)
        with suppress(ChildProcessError):  # it has just ended
            os.waitid(os.P_PID, self.pid, os.WSTOPPED)

    def go_on(self) -> None:
        self.suspended = False
        self._process.send_signal(signal.SIGCONT)

    def terminate(self) -> None:
        """Ask it to finish its jobs and end."""
        self._process.terminate()

    def wait(self, seconds: float = 20) -> int:
        """Return its exit code."""
        return self._process.wait(seconds)

    def said(self, most: int = 3000) -> str:
        """Return the end of what it has printed."""
        return self.log.read_text(errors="replace")[-most:]

    def has_said(self, text: str) -> bool:
        return text in self.log.read_text(errors="replace")

    def print_stacks(self) -> None:
        """Let it print where it is: our programs do that at SIGUSR1, those of Node do not."""
        if self._prints_stacks:
            self._process.send_signal(signal.SIGUSR1)
            time.sleep(0.5)


AnyProcess = TypeVar("AnyProcess", bound=Process)


def end(processes: Sequence[AnyProcess], seconds: float) -> dict[AnyProcess, str]:
    """Ask processes to end, all at once; return what is wrong with how some did. None is left."""
    for process in processes:
        process.go_on()
        process.terminate()
    wrong = {}
    for process in processes:
        try:
            if code := process.wait(seconds):
                wrong[process] = f"{process.name} ended with {code}: {process.said(1500)}"
        except subprocess.TimeoutExpired:
            process.hung = True
            process.print_stacks()
            wrong[process] = f"{process.name} did not end in {seconds} s: {process.said()}"
            process.kill()
    return wrong
