"""Processing: timed until Redis has the last job in `completed`, whatever the worker says; then each job is checked."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from benches.harness.checking import Expected, check_added, check_processed
from benches.harness.measuring import Measurement
from benches.harness.payload import NAME
from benches.harness.peer import PeerError
from benches.harness.stage import Stage
from bullrush import FlowProducer

#: Polling for the end: rare at first, frequent near the end, so that it is cheap for the server and exact.
_SHORTEST_LOOK = 0.001
_LONGEST_LOOK = 0.05


@dataclass(frozen=True)
class Process:
    """Workers run the waiting jobs.

    Attributes:
        queues: in how many queues the jobs are; each process works one of them.
        delay: milliseconds by which the jobs are delayed; they are due when the workers start. 0: they wait.
        children: how many each job has; 0: it is no flow.
        memory: the growth of the workers is measured, from a tenth of the jobs on.
    """

    queues: int = 1
    delay: int = 0
    children: int = 0
    memory: bool = False

    def measure(self, stage: Stage) -> Measurement:
        """Let the contender's workers work."""
        queues = [stage.queue] if self.queues == 1 else [f"{stage.queue}-{place}" for place in range(self.queues)]
        each = (stage.jobs + stage.contender.waiting) // len(queues)
        self._fill(stage, queues, each)
        with stage.limited():
            for place, peer in enumerate(stage.peers):
                stage.prepare(peer, {"queue": queues[place % len(queues)]})
            meter = stage.meter()
            for peer in stage.peers:
                peer.go()
            wanted = each * len(queues) * (1 + self.children) - stage.contender.waiting
            if self.memory:
                self._wait(stage, queues, wanted // 10)
                meter.steady()
            done = self._wait(stage, queues, wanted)
            if stage.contender.returns:
                for peer in stage.peers:
                    peer.handled()
            found = meter.read(done)
            for peer in stage.peers:
                peer.stop()
            handled = sum(int(peer.done()["handled"]) for peer in stage.peers)
            self._check(stage, queues, each, handled)
        return found

    def _fill(self, stage: Stage, queues: list[str], each: int) -> None:
        for queue in queues:
            if self.children:
                _fill_flows(stage, queue, each, self.children)
            else:
                stage.fill(queue, each, {"delay": self.delay} if self.delay else None)
        if self.queues == 1 and not (self.delay or self.children or stage.contender.foreign):
            check_added(stage.server, stage.queue, each, stage.payload)
        time.sleep(self.delay / 1000)

    def _wait(self, stage: Stage, queues: list[str], jobs: int) -> int:
        if stage.contender.foreign:
            for peer in stage.peers:
                peer.handled()
            return jobs
        return wait_until_completed(stage, queues, jobs)

    def _check(self, stage: Stage, queues: list[str], each: int, handled: int) -> None:
        if stage.contender.foreign:
            if handled != stage.jobs:
                raise PeerError(f"{stage.contender.name} ran {handled} jobs instead of {stage.jobs}")
            stage.check_waiting(0)
            return
        plain = not self.children
        expected = Expected(each * (1 + self.children), handled, stage.payload if plain else None, self.children)
        check_processed(stage.server, queues, expected, finished=not stage.contender.waiting)


def wait_until_completed(stage: Stage, queues: list[str], jobs: int) -> int:
    """Wait until this many jobs are completed and return how many are."""
    began = time.perf_counter()
    while (completed := sum(int(stage.server.command("ZCARD", f"bull:{queue}:completed")) for queue in queues)) < jobs:
        for peer in stage.peers:
            if not peer.alive:
                raise PeerError(f"{peer.broken()}: {completed} of {jobs} jobs are completed")
        passed = time.perf_counter() - began
        if passed > stage.max_seconds:
            raise PeerError(
                f"{stage.contender.name}: only {completed} of {jobs} jobs are completed after {passed:.0f} s"
            )
        remaining = passed * (jobs - completed) / completed if completed else _LONGEST_LOOK
        time.sleep(min(max(remaining / 2, _SHORTEST_LOOK), _LONGEST_LOOK))
    return completed


def _fill_flows(stage: Stage, queue: str, flows: int, children: int) -> None:
    node: Any = {"name": NAME, "queue_name": queue, "data": {}}
    flow: Any = {**node, "children": [node] * children}
    with FlowProducer(url=stage.server.url) as producer:
        for start in range(0, flows, 100):
            producer.add_bulk([flow] * min(100, flows - start))
