"""Reading: many jobs have finished, and a peer reads them all, with their data."""

from __future__ import annotations

from dataclasses import dataclass

from benches.harness.measuring import Measurement
from benches.harness.peer import PeerError
from benches.harness.stage import Stage
from bullrush import Job, Worker

_BATCH = 1_000


@dataclass(frozen=True)
class Read:
    """A peer reads all completed jobs of a queue; timed until it says that it has them."""

    def measure(self, stage: Stage) -> Measurement:
        """Let the contender read."""
        stage.fill(stage.queue, stage.jobs)
        with Worker(stage.queue, url=stage.server.url, batch_handler=_nothing, batch_size=_BATCH) as worker:
            worker.run(until="drained")
        (peer,) = stage.peers
        with stage.limited():
            stage.prepare(peer)
            meter = stage.meter()
            peer.go()
            peer.handled()
            found = meter.read(stage.jobs)
            peer.stop()
            report = peer.done()
        expected = {"handled": stage.jobs, "orders": stage.jobs * (stage.jobs - 1) // 2}
        if report != expected:
            raise PeerError(f"{stage.contender.name} read {report} instead of {expected}")
        return found


def _nothing(jobs: list[Job]) -> list[None]:
    return [None] * len(jobs)
