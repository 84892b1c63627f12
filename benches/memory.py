"""How much memory do a million waiting jobs take in Redis, and does a worker grow over a million jobs?"""

from __future__ import annotations

from benches.contenders import bullrush, bullrush_worker, node, node_6
from benches.harness.adding import Add
from benches.harness.processing import Process
from benches.harness.question import Figure, Question

_MILLION = 1_000_000 / 30_000

QUESTIONS = (
    Question(
        name="memory_waiting",
        title="Memory of a million waiting jobs: bytes per job in Redis",
        work=Add(),
        contenders=(
            node("add_bulk", chunk=100),
            node_6("add_bulk", chunk=100),
            bullrush("add_bulk", "add_bulk"),
        ),
        figures=(Figure("server_bytes", "bytes/job in Redis"), Figure("rate", "jobs/s", rising=True)),
        share=_MILLION,
    ),
    Question(
        name="memory_worker",
        title="A million jobs through one worker process: by how much its memory grows",
        work=Process(),
        contenders=(
            node("process", worker={"concurrency": 100}),
            bullrush_worker("def", concurrency=100),
            bullrush_worker("async def", "async def", concurrency=100),
        ),
        figures=(
            Figure("rss_mb", "MB at the end", digits=1),
            Figure("rss_growth_mb", "MB more than before", digits=1),
            Figure("rate", "jobs/s", rising=True),
        ),
        share=_MILLION,
    ),
)
