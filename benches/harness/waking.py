"""Waking a fleet: how long after one ``add_bulk`` the last of many idle workers starts its job."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace

from benches.harness.contender import Contender, Figure
from benches.harness.measuring import Measurement
from benches.harness.peer import Peer, PeerError
from benches.harness.processing import wait_until_completed
from benches.harness.servers import proxy
from benches.harness.stage import Stage
from bullrush import Queue

LAST_START = Figure("last_start_ms", "last start ms", digits=1)
MEDIAN_START = Figure("median_start_ms", "median start ms", digits=1)
#: Seconds after the last job until no marker of a fan-out may be left.
_SWEPT = 10.0


@dataclass(frozen=True)
class WakeUp:
    """The contender's processes have idle workers with one slot each, as many as there are jobs.

    The contender's options: ``fan_out``, of the queue and of its workers; ``of_node``, how many of the workers are
    BullMQ's.

    Attributes:
        node: starts a process with workers of BullMQ.
        workers: how many in all.
        round_trip: of all workers to Redis, in ms.
        seconds: how long each job runs.
    """

    node: Contender
    workers: int = 200
    round_trip: float = 2.0
    seconds: float = 1.0

    def measure(self, stage: Stage) -> Measurement:
        """Add one job per worker in one call; the handlers record when they start."""
        stage = replace(stage, jobs=self.workers)
        options = stage.contender.options
        of_node = int(str(options.get("of_node", 0)))
        with ExitStack() as running:
            url = running.enter_context(proxy(stage.server.url, self.round_trip, "delay"))
            running.enter_context(stage.limited())
            peers = [*stage.peers]
            shares = [(self.workers - of_node) // len(peers)] * len(peers)
            shares[0] += self.workers - of_node - sum(shares)
            if of_node:
                theirs = running.enter_context(Peer(self.node.name, self.node.command))
                running.enter_context(theirs.limited(stage.max_seconds))
                peers.append(theirs)
                shares.append(of_node)
            for peer, workers in zip(peers, shares, strict=True):
                stage.prepare(peer, {"task": "wake", "workers": workers, "url": url, "sleep": self.seconds * 1_000})
                peer.go()
            self._wait_until_idle(stage)
            queue = running.enter_context(
                Queue(stage.queue, url=stage.server.url, fan_out=bool(options.get("fan_out")))
            )
            queue.wait_until_ready()
            meter = stage.meter()
            began = time.monotonic_ns() / 1_000
            queue.add_bulk([{"name": "wake"} for _ in range(self.workers)])
            wait_until_completed(stage, [stage.queue], self.workers)
            found = meter.read(self.workers)
            self._wait_until_swept(stage)
            starts = []
            for peer in peers:
                peer.stop()
                starts += peer.done()["starts"]
        if len(starts) != self.workers:
            raise PeerError(f"{stage.contender.name} started {len(starts)} of {self.workers} jobs")
        after = sorted((start - began) / 1_000 for start in starts)
        found.more.update(last_start_ms=after[-1], median_start_ms=after[len(after) // 2])
        return found

    def _wait_until_idle(self, stage: Stage) -> None:
        deadline = time.monotonic() + stage.max_seconds
        while stage.server.command("CLIENT", "LIST").count(b"cmd=bzpopmin") < self.workers:
            if time.monotonic() > deadline:
                raise PeerError(f"{stage.contender.name}: not all workers wait for jobs")
            time.sleep(0.1)

    def _wait_until_swept(self, stage: Stage) -> None:
        deadline = time.monotonic() + _SWEPT
        while any(member.startswith(b"w:") for member in stage.server.command("ZRANGE", self._marker(stage), 0, -1)):
            if time.monotonic() > deadline:
                raise PeerError(f"{stage.contender.name}: markers of the fan-out are left")
            time.sleep(0.05)

    def _marker(self, stage: Stage) -> str:
        return f"bull:{stage.queue}:marker"
