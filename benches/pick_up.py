"""How long after ``add`` does the handler start, when the queue is idle?

Open loop: 200 jobs per second, whatever becomes of them; each finds the worker asleep. Producer and worker are two processes of the same
contender, and the time is taken by a clock they share, so neither Redis's nor the harness's eyes are in it.
"""

from __future__ import annotations

from dataclasses import replace

from benches.contenders import NODE, bullrush, node, node_6, official_python, others, rust
from benches.harness.latency import TAIL_FIRST, PickUp
from benches.harness.question import Goal, Question

_WORKER = {"concurrency": 10}
_CONTENDERS = (
    node("process", worker=_WORKER),
    node_6("process", worker=_WORKER),
    official_python("process", worker=_WORKER),
    bullrush("def", "process", {"handler": "def", "worker": _WORKER}),
    bullrush("async def", "process", {"handler": "async def", "worker": _WORKER}),
    rust("process", worker=_WORKER),
    *(replace(other, share=1.0) for other in others("process", worker=_WORKER)),
)

QUESTIONS = (
    Question(
        name="pick_up",
        title="Pick-up latency on an idle queue: milliseconds from add to the handler",
        work=PickUp(rate=200),
        contenders=tuple(replace(contender, processes=2) for contender in _CONTENDERS),
        goals=(Goal("bullrush, def", NODE, aim=1.0), Goal("bullrush, async def", NODE, aim=1.0)),
        figures=TAIL_FIRST,
        share=0.02,
        core=True,
    ),
)
