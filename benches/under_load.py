"""How long after a job was due is it finished, at 50 % and at 80 % of the load that BullMQ for Node can carry here?

One load generator for all, in an open loop, so that a slow worker cannot slow down the load that it is measured with.
The time is ``finishedOn`` less the moment when the job was due. The port to Python is left out: it can process only a
tenth of that load.
"""

from __future__ import annotations

from benches.contenders import bullrush_workers, node, node_6, rust
from benches.harness.contender import LONGEST_CALL
from benches.harness.latency import OFFERED, TAIL_FIRST, UnderLoad
from benches.harness.question import Question

_WORKER = {"concurrency": 100}

QUESTIONS = tuple(
    Question(
        name=f"under_load_{percent}",
        title=f"End-to-end latency at {percent} % of Node's capacity: milliseconds from due to finished",
        work=UnderLoad(percent / 100),
        contenders=(
            node("process", worker=_WORKER),
            node_6("process", worker=_WORKER),
            *bullrush_workers(100),
            rust("process", worker=_WORKER),
        ),
        figures=(*TAIL_FIRST, OFFERED, LONGEST_CALL),
    )
    for percent in (50, 80)
)
