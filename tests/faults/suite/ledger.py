"""The ledgers of all processes: one file each, one line per fact.

A line is ``<fact> <monotonic ns> <key of the job> <run> <number of the start>``, written at once, so a killed process
leaves whole lines only. Facts: ``b`` a handler began, ``e`` it ended, ``d`` Redis has accepted the outcome.
"""

import itertools
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Line(NamedTuple):
    """One fact, at a time of the monotonic clock (s), which all processes of a machine share."""

    fact: str
    at: float
    key: str
    run: str
    start: int


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the whole lines of a ledger. A process of Node may be killed in the middle of one."""
    for line in path.read_text(errors="replace").splitlines():
        words = line.split(" ")
        if len(words) == 5 and words[1].isdigit() and words[4].isdigit():
            yield Line(words[0], int(words[1]) / 1e9, words[2], words[3], int(words[4]))


class Ledger:
    """What a process of ours writes; programs/worker.js and producer.js do the same."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._stem = os.path.basename(path).partition(".")[0]
        self._runs = itertools.count()

    def note(self, fact: str, key: str, run: str = "-", start: int = 0) -> None:
        os.write(self._file, f"{fact} {time.monotonic_ns()} {key} {run} {start}\n".encode())

    def new_run(self) -> str:
        """Return a name for a run that no other run of any process has."""
        return f"{self._stem}.{next(self._runs)}"

    def accepted(self, result: Any) -> None:
        if isinstance(result, dict) and "run" in result:
            self.note("d", result["k"], result["run"])


class Followed:
    """A ledger that is read while it grows: which jobs of faults have begun in this process."""

    def __init__(self, path: Path) -> None:
        self._path, self._read, self._rest = path, 0, ""
        self._keys: set[str] = set()
        self._lock = threading.Lock()

    def has_begun(self) -> bool:
        """Return whether any job has begun."""
        return self._path.stat().st_size > 0

    def begun(self) -> set[str]:
        """Return the keys of the jobs of faults that have begun."""
        with self._lock, open(self._path) as file:
            file.seek(self._read)
            *lines, self._rest = (self._rest + file.read()).split("\n")
            self._read = file.tell()
            self._keys |= {line.split(" ")[2] for line in lines if line.startswith("b ") and " fault-" in line}
            return set(self._keys)
