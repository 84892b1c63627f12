"""One measurement: a peer does its work once, timed from outside, and the work is checked."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import psutil

from benches.harness.checking import check_added, check_processed
from benches.harness.payload import NAME, payloads
from benches.harness.peer import Peer, PeerError
from benches.harness.question import Contender, Work
from benches.harness.server import BenchServer, CommandStats
from bullrush import Queue

_LONGEST = 60.0
#: Looking for the end: seldom at first, often towards the end, so that it costs the server nothing and is exact.
_SHORTEST_LOOK = 0.001
_LONGEST_LOOK = 0.05


@dataclass(frozen=True)
class Measurement:
    """What one round of one contender took.

    Attributes:
        jobs: how many.
        seconds: from ``go`` to the last acknowledgement (add), or until Redis has the last job in ``completed`` (process).
        server_us: CPU time of the server's main thread per job.
        client_us: CPU time of the peer's process per job.
        others: CPU time that neither of them nor the harness used, as a share of the machine: what disturbed the round.
        commands: calls and microseconds by command.
    """

    jobs: int
    seconds: float
    server_us: float
    client_us: float
    others: float
    commands: CommandStats

    @property
    def rate(self) -> float:
        """Jobs per second."""
        return self.jobs / self.seconds


class Meter:
    """Counts time, the server's CPU and the client's from its creation to `read`."""

    def __init__(self, server: BenchServer, peer: Peer) -> None:
        self._server, self._peer = server, peer
        self._machine = _busy_seconds()
        self._own = time.process_time()
        self._client = peer.cpu_seconds()
        self._load = server.load()
        self._began = time.perf_counter()

    def read(self, jobs: int) -> Measurement:
        """Return what was used since."""
        seconds = time.perf_counter() - self._began
        client = self._peer.cpu_seconds() - self._client
        load = self._load.until(self._server.load())
        known = client + load.cpu_us / 1e6 + time.process_time() - self._own
        others = _busy_seconds() - self._machine - known
        return Measurement(
            jobs=jobs,
            seconds=seconds,
            server_us=load.cpu_us / jobs,
            client_us=client * 1e6 / jobs,
            others=max(0.0, others / (seconds * (os.cpu_count() or 1))),
            commands=load.commands,
        )


def measure(server: BenchServer, peer: Peer, contender: Contender, work: Work, queue: str, jobs: int) -> Measurement:
    """Let a peer do its work once.

    Raises:
        PeerError: it broke down, hung, or the work is not what was asked for.
    """
    server.empty()
    if work == "process":
        _fill(server, queue, jobs)
    order = {**contender.options, "task": contender.task, "url": server.url, "queue": queue, "jobs": jobs}
    with peer.limited(_LONGEST):
        peer.prepare(order)
        meter = Meter(server, peer)
        peer.go()
        if work == "add":
            peer.done()
            measurement = meter.read(jobs)
            check_added(server, queue, jobs)
        else:
            _wait_until_completed(server, peer, queue, jobs)
            measurement = meter.read(jobs)
            peer.stop()
            check_processed(server, queue, jobs, int(peer.done()["handled"]))
    return measurement


def _fill(server: BenchServer, queue: str, jobs: int) -> None:
    """Add the jobs that are to be worked. Who adds them makes no difference: the keys are the same."""
    with Queue(queue, url=server.url) as producer:
        producer.add_bulk({"name": NAME, "data": data} for data in payloads(jobs))
    check_added(server, queue, jobs)


def _wait_until_completed(server: BenchServer, peer: Peer, queue: str, jobs: int) -> None:
    began = time.perf_counter()
    key = f"bull:{queue}:completed"
    while (completed := int(server.command("ZCARD", key))) < jobs:
        if not peer.alive:
            raise PeerError(f"{peer.broken()}: {completed} of {jobs} jobs are completed")
        passed = time.perf_counter() - began
        remaining = passed * (jobs - completed) / completed if completed else _LONGEST_LOOK
        time.sleep(min(max(remaining / 2, _SHORTEST_LOOK), _LONGEST_LOOK))


def _busy_seconds() -> float:
    times = psutil.cpu_times()
    return sum(getattr(times, kind, 0.0) for kind in ("user", "nice", "system", "irq", "softirq", "steal"))
