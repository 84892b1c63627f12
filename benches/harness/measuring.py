"""The cost of a round: time, the server's CPU and memory, the contender's CPU and memory."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import psutil

from benches.harness.peer import Peer
from benches.harness.server import BenchServer, CommandStats

#: What clients send by themselves: scripts, and what the harness asks meanwhile (ZCARD, until all jobs have completed).
_SENT = {
    *("auth", "bzpopmin", "client", "config", "echo", "eval", "evalsha", "function", "fcall", "hello", "info", "ping"),
    *("publish", "script", "select", "slowlog", "subscribe", "zcard"),
}


@dataclass(frozen=True)
class Measurement:
    """The measurement of one round of one contender.

    Attributes:
        jobs: how many.
        seconds: how long it took them all.
        server_us: CPU time of the server's main thread per job.
        client_us: CPU time of the peer's processes per job.
        others: CPU time of all other programs, as a share of the machine: the disturbance of the round.
        commands: calls and microseconds by command.
        more: further figures of the question, by name.
    """

    jobs: int
    seconds: float
    server_us: float
    client_us: float
    others: float
    commands: CommandStats
    more: dict[str, float] = field(default_factory=dict)

    def figure(self, name: str) -> float:
        """Return a figure by its name."""
        return self.more[name] if name in self.more else float(getattr(self, name))

    @property
    def calls(self) -> float:
        """Commands in scripts per job, to a tenth."""
        calls = sum(number for name, (number, _) in self.commands.items() if name.split("|")[0] not in _SENT)
        return round(calls / self.jobs, 1)

    @property
    def rate(self) -> float:
        """Jobs per second."""
        return self.jobs / self.seconds


class Meter:
    """Counts from its creation to `read`."""

    def __init__(self, server: BenchServer, peers: Sequence[Peer]) -> None:
        self._server, self._peers = server, peers
        self._machine = _busy_seconds()
        self._own = time.process_time()
        self._client = self._client_seconds()
        self._memory = server.used_memory()
        self._rss = self._client_rss()
        server.forget_slow_calls()
        self._load = server.load()
        self._began = time.perf_counter()

    def steady(self) -> None:
        """Mark the base of the contender's memory: growth counts from here."""
        self._rss = self._client_rss()

    def read(self, jobs: int, **more: float) -> Measurement:
        """Return what was used since."""
        seconds = time.perf_counter() - self._began
        client = self._client_seconds() - self._client
        load = self._load.until(self._server.load())
        known = client + load.cpu_us / 1e6 + time.process_time() - self._own
        others = _busy_seconds() - self._machine - known
        more.setdefault("longest_call_ms", self._server.longest_call_ms())
        self._server.forget_slow_calls()  # what the server keeps about them is not memory of jobs
        more.setdefault("server_bytes", (self._server.used_memory() - self._memory) / jobs)
        more.setdefault("rss_growth_mb", (self._client_rss() - self._rss) / 1e6)
        more.setdefault("rss_mb", self._client_rss() / 1e6)
        return Measurement(
            jobs=jobs,
            seconds=seconds,
            server_us=load.cpu_us / jobs,
            client_us=client * 1e6 / jobs,
            others=max(0.0, others / (seconds * (os.cpu_count() or 1))),
            commands=load.commands,
            more=more,
        )

    def _client_seconds(self) -> float:
        return sum(peer.cpu_seconds() for peer in self._peers)

    def _client_rss(self) -> float:
        return sum(peer.rss() for peer in self._peers)


def _busy_seconds() -> float:
    times = psutil.cpu_times()
    return sum(getattr(times, kind, 0.0) for kind in ("user", "nice", "system", "irq", "softirq", "steal"))
