"""The line between the supervisor and one of its processes: words one way, JSON the other way."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any, Final

from bullrush.cli.worker.ending import ENDED

_log: Final = logging.getLogger("bullrush.worker")

#: Take no more jobs and end after the running ones. It may be said again.
STOP: Final = "stop"
#: End at once.
FORCE: Final = "force"

#: Seconds for an answer.
_TIMEOUT: Final = 3.0


class Line:
    """The supervisor's end."""

    def __init__(self, end: socket.socket) -> None:
        end.settimeout(_TIMEOUT)
        self._socket = end
        self._rest = b""
        self._saying = threading.Lock()
        self._asking = threading.Lock()
        self._number = 0

    def say(self, word: str) -> None:
        """Send a word. Nothing happens if the process has ended."""
        with self._saying, contextlib.suppress(OSError):
            self._socket.sendall(f"{word}\n".encode())

    def ask(self, question: str) -> Any:
        """Return the answer to a question; None if there is none in time."""
        with self._asking:
            self._number += 1
            self.say(f"{question} {self._number}")
            with contextlib.suppress(OSError, ValueError):
                while line := self._read_line():
                    number, answer = json.loads(line)
                    if number == self._number:
                        return answer
            return None

    def _read_line(self) -> bytes:
        """Return the next line; an empty one if the process has ended."""
        while b"\n" not in self._rest:
            received = self._socket.recv(1 << 16)
            if not received:
                return b""
            self._rest += received
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def close(self) -> None:
        """Close the line: a process that still runs ends after its running jobs."""
        self._socket.close()


class ControlClient:
    """The process's end: it listens to the supervisor on a thread of its own.

    Until `hand_over` the process only starts, and a word of the supervisor or a signal ends it. If the supervisor dies,
    that counts as `STOP`.
    """

    def __init__(self, descriptor: int) -> None:
        self._order: Callable[[str], None] = _leave
        self._answer: Callable[[str], Any] = _know_nothing
        # A terminal and systemd signal all processes at once.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: _leave(STOP))
        threading.Thread(target=self._listen, args=(descriptor,), name="bullrush-control", daemon=True).start()

    def hand_over(self, order: Callable[[str], None], answer: Callable[[str], Any]) -> None:
        """The process has started.

        Args:
            order: called with `STOP` or `FORCE`.
            answer: returns the answer to a question, as JSON.
        """
        self._answer = answer
        self._order = order

    def _listen(self, descriptor: int) -> None:
        with socket.socket(fileno=descriptor) as line, line.makefile("r") as words:
            for text in words:
                word, _, number = text.strip().partition(" ")
                if word in {STOP, FORCE}:
                    self._order(word)
                else:
                    line.sendall(f"{json.dumps([int(number), self._try_to_answer(word)])}\n".encode())
        self._order(STOP)

    def _try_to_answer(self, question: str) -> Any:
        try:
            return self._answer(question)
        except Exception:
            # Without this thread the process would not hear the next word.
            _log.exception("no answer to %r", question)
            return None


def _leave(_word: str) -> None:
    os._exit(ENDED)


def _know_nothing(_question: str) -> None:
    """Answer a question when there is nothing to tell yet."""
