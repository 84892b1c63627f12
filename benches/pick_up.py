"""How long after ``add`` does the handler start, when the queue is idle?

Open loop: 200 jobs per second, without waiting for their results; the worker is idle before each. Producer and worker
are two processes of the same contender with a common clock, so neither Redis nor the harness takes part in the
measurement.
"""

from __future__ import annotations

from dataclasses import replace

from benches.contenders import NODE, bullmq, bullrush_workers, others, rust
from benches.harness.goals import Times
from benches.harness.latency import P50, P99, TAIL_FIRST, PickUp
from benches.harness.question import Question

_WORKER = {"concurrency": 10}
_CONTENDERS = (
    *bullmq("process", worker=_WORKER),
    *bullrush_workers(10),
    rust("process", worker=_WORKER),
    *(replace(other, share=0.5) for other in others("process", worker=_WORKER)),
)

QUESTIONS = (
    Question(
        name="pick_up",
        title="Pick-up latency on an idle queue: milliseconds from add to the handler",
        work=PickUp(rate=200),
        contenders=tuple(replace(contender, processes=2) for contender in _CONTENDERS),
        goals=tuple(
            Times(f"bullrush, {kind}", NODE, 1, figure) for kind in ("def", "async def") for figure in (P50, P99)
        ),
        figures=TAIL_FIRST,
        share=0.02,
        core=True,
    ),
)
