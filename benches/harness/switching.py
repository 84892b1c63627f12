"""What it costs a program to have many calls in flight, without any queue."""

from __future__ import annotations

from dataclasses import dataclass

from benches.harness.contender import Figure
from benches.harness.measuring import Measurement
from benches.harness.stage import Stage

CLIENT_US = Figure("client_us", "client us per wait", digits=1)


@dataclass(frozen=True)
class Switch:
    """A process waits so often, and does nothing else."""

    def measure(self, stage: Stage) -> Measurement:
        """Let the contender wait."""
        peer = stage.peers[0]
        with stage.limited():
            stage.prepare(peer)
            meter = stage.meter()
            peer.go()
            peer.done()
            return meter.read(stage.jobs)
