"""How close does a worker come to its concurrency, when handlers take 10 ms or 1 s?

100 at a time is at most 10,000 or 100 jobs per second; the difference is the cost of the queue.
"""

from __future__ import annotations

from typing import Any

from benches.contenders import bullrush, node, node_6, official_python, rust
from benches.harness.contender import Contender
from benches.harness.processing import Process
from benches.harness.question import Question

_WORKER = {"concurrency": 100}


def _bullrush(handler: str, milliseconds: int) -> Contender:
    order = {"handler": handler, "worker": _WORKER, "act": "sleep", "sleep": milliseconds}
    return bullrush(handler, "process", order)


def _contenders(milliseconds: int, python_share: float) -> tuple[Contender, ...]:
    act: Any = {"act": "sleep", "sleep": milliseconds, "worker": _WORKER}
    return (
        node("process", **act),
        node_6("process", **act),
        official_python("process", share=python_share, **act),
        _bullrush("def", milliseconds),
        _bullrush("async def", milliseconds),
        rust("process", **act),
    )


QUESTIONS = (
    Question(
        name="handler_10_ms",
        title="Handlers of 10 ms, concurrency 100: jobs per second of at most 10,000",
        work=Process(),
        contenders=_contenders(10, python_share=0.2),
        share=0.5,
    ),
    Question(
        name="handler_1_s",
        title="Handlers of 1 s, concurrency 100: jobs per second of at most 100",
        work=Process(),
        contenders=_contenders(1_000, python_share=1.0),
        share=0.01,
    ),
)
