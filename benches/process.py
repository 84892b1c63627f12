"""How fast does one worker process get through a full queue when its handler does nothing?

So this is the cost of the queue per job. Knobs: concurrency; for bullrush the kind of handler. ``batch_handler`` has as
many running jobs as the others: at concurrency 100 that is 2 batches of 50. ``prefetch=0`` is BullMQ's own rule: fetch
a job only when a handler is free.
"""

from __future__ import annotations

from benches.contenders import LIMIT, NODE, PYTHON, bullmq, bullrush_worker, bullrush_workers, limit, others, rust
from benches.harness.contender import CALLS, LONGEST_CALL, RATE, SERVER_US, Contender
from benches.harness.goals import EVERY_PEER, AtMost, Times
from benches.harness.processing import Process
from benches.harness.question import Goal, Question
from benches.harness.script_calls import GOALS as COUNTS

_KINDS = ("def", "async def", "batch_handler")
_STRICT = "bullrush, def, prefetch=0"


def _goals(kind: str) -> tuple[Goal, ...]:
    name = f"bullrush, {kind}"
    return (
        Times(name, NODE, 2.0 if kind == "async def" else 2.5),
        Times(name, PYTHON, 25),
        Times(name, EVERY_PEER, 1),
        Times(name, LIMIT, 0.8),
        AtMost(name, SERVER_US, 10, beside=NODE, where=25),
        AtMost(name, LONGEST_CALL, 5),
    )


def _workers(concurrency: int, python_share: float) -> tuple[Contender, ...]:
    batches, size = (2, concurrency // 2) if concurrency > 10 else (1, concurrency)
    return (
        *bullmq("process", python_share, worker={"concurrency": concurrency}),
        *bullrush_workers(concurrency),
        bullrush_worker("batch_handler", "batch_handler", concurrency=batches, batch_size=size),
        bullrush_worker("def, prefetch=0", concurrency=concurrency, prefetch=0),
    )


QUESTIONS = (
    Question(
        name="process",
        title="Process, concurrency 100: no-op jobs per second in one worker process",
        work=Process(),
        contenders=(
            *_workers(100, python_share=0.1),
            limit("process"),
            rust("process", worker={"concurrency": 100}),
            *others("process", worker={"concurrency": 100}),
        ),
        goals=(
            *(goal for kind in _KINDS for goal in _goals(kind)),
            Times(_STRICT, NODE, 2),
            AtMost("bullrush, def", CALLS, COUNTS["job at concurrency 100"], beside=NODE),
            AtMost(_STRICT, CALLS, COUNTS["job at concurrency 100, prefetch=0"], beside=NODE),
        ),
        figures=(RATE, LONGEST_CALL),
        share=2.0,
        core=True,
    ),
    Question(
        name="process_ten",
        title="Process, concurrency 10: no-op jobs per second in one worker process",
        work=Process(),
        contenders=_workers(10, python_share=0.2),
        goals=(Times(_STRICT, NODE, 1.3), AtMost(_STRICT, CALLS, COUNTS["job at concurrency 10"], beside=NODE)),
        share=0.5,
    ),
    Question(
        name="process_one",
        title="Process, concurrency 1: no-op jobs per second in one worker process",
        work=Process(),
        contenders=_workers(1, python_share=0.2),
        goals=(
            *(Times(f"bullrush, {kind}", NODE, 2) for kind in _KINDS),
            Times(_STRICT, NODE, 1.5),
            AtMost(_STRICT, CALLS, COUNTS["turn of 1"], beside=NODE),
        ),
        share=0.2,
        core=True,
    ),
)
