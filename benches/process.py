"""How fast does one worker process get through a full queue when its handler does nothing?

So this is what the queue itself costs per job. Knobs: concurrency; for bullrush the kind of handler. ``batch_handler`` has as many jobs in
hand as the others: at concurrency 100 that is 2 batches of 50. ``prefetch=0`` is BullMQ's own rule, never to claim a job before a handler is
free.
"""

from __future__ import annotations

from benches.contenders import NODE, PYTHON, bullrush_worker, limit, node, node_6, official_python, others, rust
from benches.harness.processing import Process
from benches.harness.question import Contender, Goal, Question


def _goals(variant: str, at_least: float, aim: float) -> tuple[Goal, ...]:
    name = f"bullrush, {variant}"
    return (Goal(name, NODE, aim, at_least), Goal(name, PYTHON, aim=25.0, at_least=10.0))


def _bullmq(concurrency: int, python_share: float) -> tuple[Contender, ...]:
    worker = {"concurrency": concurrency}
    return (
        node("process", worker=worker),
        node_6("process", worker=worker),
        official_python("process", share=python_share, worker=worker),
    )


QUESTIONS = (
    Question(
        name="process",
        title="Process, concurrency 100: no-op jobs per second in one worker process",
        work=Process(),
        contenders=(
            *_bullmq(100, python_share=0.1),
            bullrush_worker("def", concurrency=100),
            bullrush_worker("async def", "async def", concurrency=100),
            bullrush_worker("batch_handler", "batch_handler", concurrency=2, batch_size=50),
            limit("process"),
            rust("process", worker={"concurrency": 100}),
            *others("process", worker={"concurrency": 100}),
        ),
        goals=(
            *_goals("def", at_least=1.5, aim=2.5),
            *_goals("async def", at_least=1.5, aim=2.0),
            *_goals("batch_handler", at_least=1.5, aim=2.5),
        ),
        core=True,
    ),
    Question(
        name="process_ten",
        title="Process, concurrency 10: no-op jobs per second in one worker process",
        work=Process(),
        contenders=(
            *_bullmq(10, python_share=0.2),
            bullrush_worker("def", concurrency=10),
            bullrush_worker("async def", "async def", concurrency=10),
            bullrush_worker("batch_handler", "batch_handler", concurrency=1, batch_size=10),
        ),
        goals=(Goal("bullrush, def", NODE, aim=2.0),),
        share=0.5,
    ),
    Question(
        name="process_one",
        title="Process, concurrency 1: no-op jobs per second in one worker process",
        work=Process(),
        contenders=(
            *_bullmq(1, python_share=0.2),
            bullrush_worker("def", concurrency=1),
            bullrush_worker("async def", "async def", concurrency=1),
            bullrush_worker("batch_handler", "batch_handler", concurrency=1, batch_size=1),
            bullrush_worker("def, prefetch=0", concurrency=1, prefetch=0),
        ),
        goals=(Goal("bullrush, def", NODE, aim=2.0),),
        share=0.2,
        core=True,
    ),
)
