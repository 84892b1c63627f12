"""How much memory do a million waiting jobs take in Redis, and does a worker grow over a million jobs?

One round, since memory hardly varies from round to round; Node works a third of the jobs, which takes long enough.
"""

from __future__ import annotations

from benches.contenders import NODE, bullrush, bullrush_workers, node
from benches.harness.adding import Add
from benches.harness.contender import Figure
from benches.harness.goals import AtMost
from benches.harness.processing import Process
from benches.harness.question import Question

_MILLION = 1_000_000 / 30_000
_GROWTH = Figure("rss_growth_mb", "MB more than after a tenth", digits=1)
_RATE = Figure("rate", "jobs/s", rising=True)

QUESTIONS = (
    Question(
        name="memory_waiting",
        title="Memory of a million waiting jobs: bytes per job in Redis",
        work=Add(),
        contenders=(node("add_bulk", chunk=100), bullrush("add_bulk", "add_bulk")),
        figures=(Figure("server_bytes", "bytes/job in Redis"), _RATE),
        share=_MILLION,
        rounds=1,
        max_seconds=240,
    ),
    Question(
        name="memory_worker",
        title="A million jobs through one worker process: its memory",
        work=Process(memory=True),
        contenders=(node("process", share=0.3, worker={"concurrency": 100}), *bullrush_workers(100)),
        goals=tuple(AtMost(f"bullrush, {kind}", _GROWTH, 5, beside=NODE) for kind in ("def", "async def")),
        figures=(Figure("rss_mb", "MB at the end", digits=1), _GROWTH, _RATE),
        share=_MILLION,
        rounds=1,
        max_seconds=240,
    ),
)
