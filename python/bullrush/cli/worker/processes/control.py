"""The line between the supervisor and one of its processes: words one way, JSON the other way."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from typing import Any, Final

#: Take no more jobs and end after the running ones. It may be said again.
STOP: Final = "stop"
#: End at once.
FORCE: Final = "force"

#: Seconds for an answer.
_PATIENCE: Final = 3.0


class Line:
    """The supervisor's end."""

    def __init__(self, end: socket.socket) -> None:
        end.settimeout(_PATIENCE)
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


def obey(descriptor: int, order: Callable[[str], None], answer: Callable[[str], Any]) -> None:
    """Listen to the supervisor on a thread of its own.

    Args:
        descriptor: the process's end of the line.
        order: called with `STOP` or `FORCE`. If the supervisor dies, it is told to stop.
        answer: returns the answer to a question, as JSON.
    """

    def listen() -> None:
        with socket.socket(fileno=descriptor) as line, line.makefile("r") as words:
            for text in words:
                word, _, number = text.strip().partition(" ")
                if word in {STOP, FORCE}:
                    order(word)
                else:
                    line.sendall(f"{json.dumps([int(number), answer(word)])}\n".encode())
        order(STOP)

    threading.Thread(target=listen, name="bullrush-control", daemon=True).start()
