"""How do several worker processes share one queue, and how fast are they with a queue each?"""

from __future__ import annotations

from dataclasses import replace

from benches.contenders import bullrush_worker, node, variant
from benches.harness.contender import Contender
from benches.harness.processing import Process
from benches.harness.question import Question

_SIZES = (1, 2, 4)
_WORKERS = (node("process", worker={"concurrency": 100}), bullrush_worker("def", concurrency=100))


def _fleets(sizes: tuple[int, ...]) -> tuple[Contender, ...]:
    return tuple(
        variant(worker, f"{size} process{'es' * (size > 1)}", processes=size) for worker in _WORKERS for size in sizes
    )


QUESTIONS = (
    Question(
        name="fleet_one_queue",
        title="Worker processes on one queue, concurrency 100 each: jobs per second together",
        work=Process(),
        contenders=_fleets(_SIZES),
    ),
    Question(
        name="fleet_queue_each",
        title="4 worker processes, a queue each, concurrency 100 each: jobs per second together",
        work=Process(queues=4),
        contenders=tuple(replace(fleet) for fleet in _fleets((4,))),
    ),
)
