"""Worker processes of every kind on the same queues: real BullMQ 5.62.0 and 6.x, ours with threads and asyncio."""

import json
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redis import Redis

from tests.driver.ledger import Ledger
from tests.driver.process import Process, end
from tests.interop.peers import FLOOR, NEWEST_6, PEERS
from tests.interop.sides.results import snaked
from tests.waiting import wait_until

ROOT = Path(__file__).parents[3]
NODE_WORKER = ROOT / "tests" / "interop" / "node" / "fleet_worker.js"
NODE_KINDS = (FLOOR.library, NEWEST_6.library)
OUR_KINDS = ("sync", "aio")
KINDS = (*NODE_KINDS, *OUR_KINDS)
_LIBRARIES = {peer.library for peer in PEERS.values()}

#: A killed worker's jobs come back after this and two stalled checks. If it is too short, jobs stall on a busy machine.
LOCK_MS = 5000
STALLED_INTERVAL_MS = 1500
CONCURRENCY = 10

#: Options of queues whose events are all kept: the final check reads them.
ALL_EVENTS = {"streams": {"events": {"maxLen": 100_000_000}}}

#: The places of jobs without an outcome, with the command that counts them.
UNDONE = {
    **dict.fromkeys(("wait", "active", "paused"), "llen"),
    **dict.fromkeys(("delayed", "prioritized", "waiting-children"), "zcard"),
}

#: With this code a process ends when a job makes it crash.
CRASHED = 13


@dataclass
class Fleet:
    """Starts, kills and stops worker processes, and counts which jobs their handlers started."""

    url: str
    queues: list[str]
    folder: Path
    #: Where kinds connect that do not use `url`.
    urls: dict[str, str] = field(default_factory=dict)
    lock_ms: int = LOCK_MS
    processes: defaultdict[str, list[Process]] = field(default_factory=lambda: defaultdict(list))
    #: Processes that were asked to end.
    leaving: list[Process] = field(default_factory=list)
    started: int = 0
    #: Processes that were killed or suspended, or that a job has ended.
    cut_off: int = 0

    def start(self, kind: str) -> None:
        """Start one process of a kind."""
        self._start(kind, kind, self.queues)

    def _start(self, name: str, kind: str, queues: list[str], **more: Any) -> None:
        """Start one process of a kind for some queues, known by a name, with more options."""
        self.started += 1
        ledger = self.folder / f"{self.started}-{name}.ledger"
        ledger.touch()
        node = kind in _LIBRARIES
        limits = {"lockDuration": self.lock_ms, "stalledInterval": STALLED_INTERVAL_MS, "maxStalledCount": 10}
        options = {"concurrency": CONCURRENCY, "name": name, **limits}
        settings = json.dumps({"queues": queues, **(options if node else snaked(options)), **more})
        program = ["node", str(NODE_WORKER)] if node else [sys.executable, "-u", "-m", "tests.interop.fleet.worker"]
        command = [*program, kind, self.urls.get(kind, self.url), str(ledger), settings]
        self.processes[name].append(Process(command, ledger.with_suffix(".log"), cwd=ROOT))

    def kill(self, kind: str) -> None:
        """End the oldest process of a kind as a crash would."""
        self.cut_off += 1
        self.processes[kind].pop(0).kill()

    def replace(self, kind: str, by: str) -> None:
        """Start a process of another kind, and ask the oldest of a kind to finish its jobs and end."""
        self.start(by)
        oldest = self.processes[kind].pop(0)
        self._wait_until_started(oldest)
        oldest.terminate()
        self.leaving.append(oldest)

    @staticmethod
    def _wait_until_started(process: Process) -> None:
        """Wait until a process can be asked to end."""
        ledger = Ledger(process.log.with_suffix(".ledger"))
        wait_until(lambda: ledger.values("ready"), f"{process.name} has started", 60)

    def wait_until_left(self) -> None:
        """Wait until those have ended that were replaced.

        Raises:
            AssertionError: one of them ended with an error.
        """
        wrong = {process.name: process.said() for process in self.leaving if process.wait(60)}
        self.leaving.clear()
        assert not wrong, wrong

    def suspend(self, kind: str) -> None:
        """Stop the oldest process of a kind like a suspended machine, until `go_on`."""
        self.cut_off += 1
        self.processes[kind][0].suspend()

    def go_on(self, kind: str) -> None:
        """Continue it."""
        self.processes[kind][0].go_on()

    def replace_crashed(self) -> None:
        """Start a process for each one that a job has ended, as a supervisor does."""
        for kind, processes in self.processes.items():
            for process in [one for one in processes if one.code == CRASHED]:
                self.cut_off += 1
                processes.remove(process)
                self.start(kind)

    def stop(self) -> None:
        """Let all processes finish their jobs and end.

        Raises:
            AssertionError: one of them had ended by itself, or does not end.
        """
        living = [process for processes in self.processes.values() for process in processes]
        ended = {process.name: process.code for process in living if not process.alive}
        assert not ended, f"ended by themselves: {ended}, {self.said()}"
        for process in living:
            self._wait_until_started(process)
        wrong = end(living, 30)
        assert not wrong, "\n".join(wrong.values())
        self.wait_until_left()

    def end(self) -> None:
        """End what is left, for the end of a test."""
        for processes in (*self.processes.values(), self.leaving):
            for process in processes:
                process.kill()

    def undone(self, redis: Redis) -> dict[str, int]:
        """Return how many jobs have no outcome, by the key of their place."""
        keys = [(f"bull:{queue}:{place}", count) for queue in self.queues for place, count in UNDONE.items()]
        with redis.pipeline(transaction=False) as pipe:
            for key, count in keys:
                getattr(pipe, count)(key)
            return {key: count for (key, _), count in zip(keys, pipe.execute(), strict=True) if count}

    def wait_until_done(self, redis: Redis, seconds: float) -> None:
        """Wait until each job of each queue has an outcome."""
        wait_until(lambda: not self.undone(redis), "all jobs end", seconds, pause=0.2)

    def runs(self) -> Counter[str]:
        """Return how often handlers began each job, as ``queue:id``."""
        return Counter(job for path in self.folder.glob("*.ledger") for job in Ledger(path).begun)

    def runs_by_kind(self) -> Counter[str]:
        """Return how many runs each kind of worker began."""
        counts: Counter[str] = Counter()
        for path in self.folder.glob("*.ledger"):
            counts[path.stem.partition("-")[2]] += len(Ledger(path).begun)
        return +counts

    def runs_cut_off(self) -> int:
        """Return how many runs Redis may not know: at most those of the last 5 ms of each process."""
        return self.cut_off * CONCURRENCY * len(self.queues)

    def said(self) -> str:
        """Return the ends of all logs."""
        return "\n".join(f"{log.name}: {log.read_text()[-2000:]}" for log in self.folder.glob("*.log"))
