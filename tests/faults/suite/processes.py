"""The processes of a round: workers and producers of every kind, started, killed, suspended and ended by the suite."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.driver import process as driver
from tests.interop.sides.results import snaked

from .clock import Clock
from .ledger import Followed
from .users import as_user, user_of

PROGRAMS = Path(__file__).parent / "programs"
ROOT = Path(__file__).parents[3]
OURS = ("sync", "aio", "cli", "spark")

#: Jobs of a process that ended come back after its locks and at most two checks. Shorter locks get lost on a busy
#: machine.
LOCK_MS = 5000
STALLED_INTERVAL_MS = 1000
CONCURRENCY = 10
#: How long a worker waits before it looks for jobs although nobody woke it. Long, so that no lost wake-up stays hidden.
DRAIN_DELAY_MS = 30_000
END_SECONDS = 40


class Process(driver.Process):
    """One process, known by the stem of its ledger.

    Attributes:
        relay: which it uses, of those that the topology offers.
        more: with which options it was started, beyond those of its kind.
        early: its numbers of descriptors and threads when it had worked for a while.
    """

    def __init__(
        self, command: list[str], kind: str, ledger: Path, relay: str, clock: Clock, environment: dict[str, str]
    ) -> None:
        super().__init__(command, ledger.with_suffix(".log"), env=environment)
        self.kind, self.ledger, self.relay = kind, ledger, relay
        self.more: dict[str, Any] = {}
        self.clock: Clock | None = clock
        self.early: tuple[int, int] | None = None
        self.followed = Followed(ledger)

    @property
    def is_ours(self) -> bool:
        return self.kind in OURS

    @property
    def was_starting(self) -> bool:
        """Whether SIGTERM has ended it before it wrote a line: it could not ask for this signal yet."""
        return self.code == -signal.SIGTERM and self.ledger.stat().st_size == 0

    def footprint(self) -> tuple[int, int] | None:
        """Return its numbers of descriptors and threads, None if it has ended."""
        try:
            folder = Path(f"/proc/{self.pid}")
            return len(os.listdir(folder / "fd")), len(os.listdir(folder / "task"))
        except OSError:
            return None

    def resident(self) -> int:
        """Return the bytes that it has in memory, 0 if it has ended."""
        try:
            return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        except (OSError, IndexError):
            return 0


class Processes:
    """All processes of a round."""

    def __init__(self, folder: Path, queue: str, url_of: Any, *, users: bool = False) -> None:
        self.folder, self.queue, self._url_of, self._has_users = folder, queue, url_of, users
        self.workers: list[Process] = []
        self.producers: list[Process] = []
        #: Every ledger that was ever written, by process.
        self.all: list[Process] = []
        #: Held while one process takes the place of another, since several lanes and the driver do that.
        self.changing = threading.RLock()

    def start_worker(self, kind: str, relay: str = "", **more: Any) -> Process:
        """Start one worker process."""
        limits = {"lockDuration": LOCK_MS, "stalledInterval": STALLED_INTERVAL_MS, "maxStalledCount": 1000}
        options = {
            "concurrency": CONCURRENCY,
            "drainDelay": DRAIN_DELAY_MS // 1000 if kind == "node" else DRAIN_DELAY_MS,
            **limits,
        }
        settings = {"queue": self.queue, **(options if kind == "node" else snaked(options)), **more}
        process = self._start("worker", kind, relay, settings)
        process.more = more
        self.workers.append(process)
        return process

    def start_producer(self, kind: str, relay: str, settings: dict[str, Any]) -> Process:
        """Start one producer process; its jobs are known by its name."""
        name = f"p{len(self.all)}"
        process = self._start("producer", kind, relay, {"queue": self.queue, "name": name, **settings})
        self.producers.append(process)
        return process

    def _start(self, role: str, kind: str, relay: str, settings: dict[str, Any]) -> Process:
        name = f"{role[0]}{len(self.all)}-{kind}"
        ledger = self.folder / f"{name}.ledger"
        ledger.touch()
        url, clock = self._url_of(relay), Clock(self.folder / f"{name}.clock")
        if self._has_users:
            url = as_user(url, user_of(role, kind))
        paths = [str(PROGRAMS), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        words = [kind, url, str(ledger), json.dumps(settings)]
        environment = {**os.environ, **clock.environment, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}
        match kind:
            case "node":
                command = ["node", str(PROGRAMS / f"{role}.js"), *words]
            case "cli":
                command = [sys.executable, "-m", "bullrush", "worker", "target:worker"]
                environment |= {"FAULTS_LEDGER": str(ledger), "FAULTS_SETTINGS": words[3], "FAULTS_URL": url}
            case _:
                command = [sys.executable, str(PROGRAMS / f"{role}.py"), *words]
        self.all.append(Process(command, kind, ledger, relay, clock, environment))
        return self.all[-1]

    def replace(self, old: Process) -> Process:
        """Start a worker process for one that has ended, as a supervisor does."""
        with self.changing:
            if old in self.workers:
                self.workers.remove(old)
            return self.start_worker(old.kind, old.relay, **old.more)

    def replace_ended(self) -> list[tuple[Process, Process]]:
        """Replace all workers that have ended; return each with the one that follows."""
        with self.changing:
            ended = [process for process in self.workers if not process.alive]
            return [(process, self.replace(process)) for process in ended]

    def end(self, processes: list[Process]) -> dict[Process, str]:
        """Ask processes to end; return what is wrong with how some did."""
        wrong = driver.end(processes, END_SECONDS)
        self.workers = [process for process in self.workers if process not in processes]
        self.producers = [process for process in self.producers if process not in processes]
        return wrong

    def kill_all(self) -> None:
        """End what is left, for the end of a round."""
        for process in self.all:
            if process.alive:
                process.kill()
            if process.clock:
                process.clock.close()
                process.clock = None

    def living(self) -> Iterator[Process]:
        """Yield the workers that run and are not suspended."""
        return (process for process in list(self.workers) if process.alive and not process.suspended)
