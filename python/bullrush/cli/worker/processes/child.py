"""One process of a supervisor."""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import time
from typing import Any, Final

import orjson

from bullrush.cli.worker.processes.control import Line
from bullrush.extending import merged_metrics, without_gauges

#: A process that lived for so many seconds is started again at once.
_LONG: Final = 10.0
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0


class Child:
    """A place for a process, which is started again when it has died."""

    def __init__(self, number: int, options: argparse.Namespace) -> None:
        self.number = number
        self.process: subprocess.Popen[bytes] | None = None
        self.line: Line | None = None
        #: The metrics of this process when they were asked for last, and the sums of those before it.
        self.page: str = ""
        self.past: str = ""
        #: It has answered since it was started.
        self.answered: bool = False
        self._name = _name(options, number)
        self._words = _words(options, self._name)
        self._began = 0.0
        self._deaths = 0

    def start(self) -> subprocess.Popen[bytes]:
        """Start the process."""
        ours, theirs = socket.socketpair()
        with theirs:
            control = ["--control", str(theirs.fileno())]
            command = [sys.executable, "-m", "bullrush", "worker", *control, *self._words]
            self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        self.line = Line(ours)
        self.answered = False
        self._began = time.monotonic()
        return self.process

    def say(self, word: str) -> None:
        """Tell the process something, if it runs."""
        if self.line is not None:
            self.line.say(word)

    def ask(self, question: str) -> Any:
        """Return the process's answer; None if it has none."""
        line = self.line
        answer = None if line is None else line.ask(question)
        self.answered |= answer is not None
        return answer

    def silent(self) -> list[dict[str, Any]]:
        """Return the health of a process that has answered before, and does not now."""
        named = {} if self._name is None else {"name": self._name}
        process = self.process
        pid = None if process is None else process.pid
        return [{**named, "process": self.number, "pid": pid, "problems": ["silent"], "healthy": False}]

    def died(self) -> float:
        """Note that the process has died; return after how many seconds to start it again."""
        if self.line is not None:
            self.line.close()
        self.process = self.line = None
        self.past, self.page = merged_metrics([self.past, without_gauges(self.page)]), ""
        self._deaths = 1 if time.monotonic() - self._began >= _LONG else self._deaths + 1
        pause: float = _FIRST_PAUSE * 2 ** min(self._deaths - 2, 10)
        return 0.0 if self._deaths == 1 else min(pause, _LONGEST_PAUSE)

    def forget_deaths(self) -> None:
        """Start again at once next time."""
        self._deaths = 0


def _name(options: argparse.Namespace, number: int) -> str | None:
    """Return the name of the process with a number: two workers of a queue must not have the same."""
    name: str | None = getattr(options, "name", None)
    return name if name is None or options.processes == 1 else f"{name}-{number}"


def _words(options: argparse.Namespace, name: str | None) -> list[str]:
    """Return the arguments of a process."""
    words: list[str] = []
    for queue in options.queues:
        words += ["--queue", str(queue)]
    for option in ("concurrency", "max_jobs", "shutdown_timeout", "prefix", "log_level"):
        if (value := getattr(options, option)) is not None:
            words += [f"--{option.replace('_', '-')}", str(value)]
    if name is not None:
        words += ["--name", name]
    if getattr(options, "profile", None) is not None:
        # As it was read: the file may change, and all processes should be alike.
        words += ["--profile", orjson.dumps(options.profile).decode()]
    flags = ("burst", "log_json", "routes_only")
    words += [f"--{option.replace('_', '-')}" for option in flags if getattr(options, option, False)]
    return [*words, "--", *options.targets]
