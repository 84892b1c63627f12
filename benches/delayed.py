"""How fast does a worker get through 100,000 delayed jobs that are all due at once?

Each has to be promoted before it can be fetched. Compare with ``process``, the same jobs without a delay.
"""

from __future__ import annotations

from benches.contenders import NODE, bullrush_worker, node, node_6, official_python
from benches.harness.processing import Process
from benches.harness.question import Goal, Question

_WORKER = {"concurrency": 100}

QUESTIONS = (
    Question(
        name="delayed",
        title="100,000 delayed jobs due at once, concurrency 100: jobs per second",
        work=Process(delay=2_000),
        contenders=(
            node("process", worker=_WORKER),
            node_6("process", worker=_WORKER),
            official_python("process", share=0.1, worker=_WORKER),
            bullrush_worker("def", concurrency=100),
            bullrush_worker("async def", "async def", concurrency=100),
        ),
        goals=(Goal("bullrush, def", NODE, aim=2.0),),
        share=100_000 / 30_000,
    ),
)
