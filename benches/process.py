"""How fast does one worker process get through a full queue when its handler does nothing?

So this is what the queue itself costs per job. Knobs: concurrency; for bullrush the kind of handler. ``batch_handler`` has 100 jobs in
hand like the others: 2 batches of 50. ``prefetch=0`` is BullMQ's own rule, never to claim a job before a handler is free.
"""

from __future__ import annotations

from benches.contenders import NODE, PYTHON, bullrush, node, official_python
from benches.harness.question import Contender, Goal, Question


def _bullrush(variant: str, handler: str, **worker: object) -> Contender:
    return bullrush(variant, "process", {"handler": handler, "worker": worker})


def _goals(variant: str, at_least: float, aim: float) -> tuple[Goal, ...]:
    name = f"bullrush, {variant}"
    return (Goal(name, NODE, aim, at_least), Goal(name, PYTHON, aim=25.0, at_least=10.0))


QUESTIONS = (
    Question(
        name="process",
        title="Process, concurrency 100: no-op jobs per second in one worker process",
        work="process",
        contenders=(
            node("process", worker={"concurrency": 100}),
            official_python("process", share=0.1, worker={"concurrency": 100}),
            _bullrush("def", "def", concurrency=100),
            _bullrush("async def", "async def", concurrency=100),
            _bullrush("batch_handler", "batch_handler", concurrency=2, batch_size=50),
        ),
        goals=(
            *_goals("def", at_least=1.5, aim=2.5),
            *_goals("async def", at_least=1.5, aim=2.0),
            *_goals("batch_handler", at_least=1.5, aim=2.5),
        ),
    ),
    Question(
        name="process_one",
        title="Process, concurrency 1: no-op jobs per second in one worker process",
        work="process",
        contenders=(
            node("process", worker={"concurrency": 1}),
            official_python("process", share=0.2, worker={"concurrency": 1}),
            _bullrush("def", "def", concurrency=1),
            _bullrush("async def", "async def", concurrency=1),
            _bullrush("def, prefetch=0", "def", concurrency=1, prefetch=0),
        ),
        goals=(Goal("bullrush, def", NODE, aim=2.0),),
        share=0.2,
    ),
)
