"""One contender's process.

It first sends its name and versions as a line of JSON. Then, for each task: the harness sends an order (JSON), the peer
gets ready (connects, makes the data) and says ``ready``; at ``go`` it starts. A producer says ``done`` when all jobs
are acknowledged. A worker goes on until ``stop`` and says ``done`` when it has closed. ``done`` is followed by a JSON
object. The end of its input ends the peer. A worker whose jobs Redis keeps in a way the harness does not know also says
``handled`` when it has run the last job.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
from typing_extensions import Self

ROOT = Path(__file__).resolve().parents[2]
NODE_MODULES = ROOT / "tests" / "interop" / "node_modules"


_PYTHONPATH = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
#: The clock type that ``clock_getcpuclockid`` combines with a process id.
_CPU_CLOCK = 2
#: Seconds within which a peer must be ready; Spark is slow.
_START = 120.0
#: Seconds within which a peer must end after its last order.
_END = 10.0


class PeerError(Exception):
    """A peer failed, hung or did not do its work."""


class MissingPeerError(PeerError):
    """A peer is not installed here or does not start."""


class Peer:
    """A running peer."""

    def __init__(self, name: str, command: tuple[str, ...]) -> None:
        self.name = name
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the peer
        try:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, "NODE_PATH": str(NODE_MODULES), "NODE_ENV": "production", "PYTHONPATH": _PYTHONPATH},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                bufsize=1,
            )
        except OSError as error:
            self._errors.close()
            raise MissingPeerError(f"could not be installed: {error.strerror}: {Path(command[0]).name}") from None
        self._usage = psutil.Process(self._process.pid)
        self._step = "start"
        self._is_late = False
        try:
            with self.limited(_START):
                self.identity: str = json.loads(self._line())["identity"]
        except PeerError as error:
            self._close()
            raise MissingPeerError(str(error)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.kill()
        self._close()

    def prepare(self, order: Mapping[str, object]) -> None:
        """Give an order and wait until the peer is ready."""
        self._step = "get ready"
        self._send(json.dumps(order))
        self._expect("ready")

    def go(self) -> None:
        """Start the work."""
        self._step = "work"
        self._send("go")

    def stop(self) -> None:
        """Let a worker close."""
        self._step = "close"
        self._send("stop")

    def handled(self) -> None:
        """Wait until a worker has run all its jobs."""
        self._expect("handled")

    def done(self) -> dict[str, Any]:
        """Wait for the end of the work and return the peer's report."""
        found: dict[str, Any] = json.loads(self._expect("done"))
        return found

    def cpu_seconds(self) -> float:
        """Return the CPU time the process and its children have used so far."""
        return sum(_cpu_seconds(process) for process in self._family())

    def rss(self) -> float:
        """Return the bytes of memory that the process and its children have."""
        return float(sum(process.memory_info().rss for process in self._family()))

    def kill(self) -> None:
        """Kill the process and its children; unfinished work is lost."""
        for process in reversed(self._family()):
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def _family(self) -> list[psutil.Process]:
        try:
            return [self._usage, *self._usage.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    @contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Kill the peer if a block takes too long, so that code that waits for it gets a `PeerError`."""
        timer = threading.Timer(seconds, self._give_up)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _give_up(self) -> None:
        self._is_late = True
        self.kill()

    def broken(self) -> PeerError:
        """Return the error of a peer that has ended."""
        code = self._process.wait()
        # Not by its code: its children are killed first, and it may end by itself when it sees that.
        how = "took too long" if self._is_late else f"ended with code {code}"
        return PeerError(f"{self.name} {how} when it had to {self._step}{self._last_words()}")

    @property
    def alive(self) -> bool:
        """True while the process runs."""
        return self._process.poll() is None

    def _close(self) -> None:
        with self.limited(_END), self._process, self._errors:  # closes its input, which ends it, and waits
            pass

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors if line.strip()]
        return f": {lines[-1][:200]}" if lines else ""

    def _send(self, line: str) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(line + "\n")
        except BrokenPipeError:
            raise self.broken() from None

    def _expect(self, word: str) -> str:
        found, _, rest = self._line().partition(" ")
        if found != word:
            raise PeerError(f"{self.name} said {found!r} instead of {word!r}")
        return rest

    def _line(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise self.broken()
        return line.strip()


def _cpu_seconds(process: psutil.Process) -> float:
    """The CPU time of a process and of its ended children."""
    try:
        times = process.cpu_times()
        ended = float(times.children_user + times.children_system) if hasattr(times, "children_user") else 0.0
        if platform.system() == "Linux":
            # The process's CPU clock counts nanoseconds and includes ended threads; its times are in ticks of 10 ms.
            return ended + time.clock_gettime((~process.pid << 3) | _CPU_CLOCK)
        return ended + float(times.user + times.system)
    except (OSError, psutil.NoSuchProcess):
        return 0.0
