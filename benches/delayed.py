"""How fast does a worker get through 100,000 delayed jobs that are all due at once?

Each has to be promoted before it can be fetched. Compare with ``process``, the same jobs without a delay.
"""

from __future__ import annotations

from benches.contenders import bullmq, bullrush_workers
from benches.harness.contender import LONGEST_CALL, RATE
from benches.harness.processing import Process
from benches.harness.question import Question

QUESTIONS = (
    Question(
        name="delayed",
        title="100,000 delayed jobs due at once, concurrency 100: jobs per second",
        work=Process(delay=2_000),
        contenders=(*bullmq("process", python_share=0.05, worker={"concurrency": 100}), *bullrush_workers(100)),
        figures=(RATE, LONGEST_CALL),
        share=100_000 / 30_000,
    ),
)
