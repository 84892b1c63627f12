"""Adding: timed from the start to the last acknowledgement, then every job has to be there."""

from __future__ import annotations

from dataclasses import dataclass

from benches.harness.checking import check_added, check_flows_added
from benches.harness.measuring import Measurement
from benches.harness.stage import Stage


@dataclass(frozen=True)
class Add:
    """Producers fill a queue.

    Attributes:
        children: how many each job has; 0: it is no flow.
        ordered: the jobs have to be in the order in which they were added.
    """

    children: int = 0
    ordered: bool = True

    def measure(self, stage: Stage) -> Measurement:
        """Let the contender add its jobs."""
        if stage.contender.waiting:
            stage.fill(stage.queue, stage.contender.waiting)
        with stage.limited():
            for peer in stage.peers:
                stage.prepare(peer, {"jobs": stage.jobs, "children": self.children})
            meter = stage.meter()
            for peer in stage.peers:
                peer.go()
            for peer in stage.peers:
                peer.done()
            found = meter.read(stage.jobs * len(stage.peers) * (1 + self.children))
            self._check(stage, found.jobs)
        return found

    def _check(self, stage: Stage, jobs: int) -> None:
        if stage.contender.foreign:
            stage.check_waiting(jobs)
        elif self.children:
            check_flows_added(stage.server, stage.queue, stage.jobs, self.children)
        else:
            waiting = stage.contender.waiting
            ordered = self.ordered and stage.contender.ordered and not waiting
            check_added(stage.server, stage.queue, waiting + jobs, stage.payload, ordered)
