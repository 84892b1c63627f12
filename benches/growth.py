"""Does a job cost more when many others wait? One job at a time, with 1,000 to a million waiting jobs.

And again with the server's data on small pages: a million jobs fill more pages than the TLB of a processor has entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benches.contenders import NODE, bullrush, bullrush_worker, node, variant
from benches.harness.adding import Add
from benches.harness.contender import RATE, SERVER_US, Contender
from benches.harness.goals import Times
from benches.harness.processing import Process
from benches.harness.question import Goal, Question
from benches.harness.server import Setup

_WAITING = (1_000, 10_000, 100_000, 1_000_000)


def _with_waiting(contenders: Sequence[Contender], each: Sequence[int] = _WAITING) -> tuple[Contender, ...]:
    return tuple(
        variant(contender, f"{waiting:,} waiting", waiting=waiting) for contender in contenders for waiting in each
    )


def _flat(name: str) -> tuple[Goal, ...]:
    """Within 10 %: with the most waiting jobs at least 1 / 1.1 times as good as with the fewest."""
    return (Times(*_most_and_fewest(name), at_least=1 / 1.1, beside=_most_and_fewest(NODE)),)


def _most_and_fewest(name: str) -> tuple[str, str]:
    return f"{name}, {_WAITING[-1]:,} waiting", f"{name}, {_WAITING[0]:,} waiting"


_WORKERS = (node("process", worker={"concurrency": 100}), bullrush_worker("def", concurrency=100))
_PROCESS = Question(
    name="growth_process",
    title="Process jobs of a queue in which many wait, concurrency 100: server time per job",
    work=Process(),
    contenders=_with_waiting(_WORKERS),
    goals=_flat("bullrush, def"),
    figures=(SERVER_US, RATE),
    share=0.5,
    max_seconds=120,
)

QUESTIONS = (
    Question(
        name="growth_add",
        title="Single add to a queue in which many wait: server time per job",
        work=Add(ordered=False),
        contenders=_with_waiting([node("add"), bullrush("Queue.add", "add")]),
        goals=_flat("bullrush, Queue.add"),
        figures=(SERVER_US, RATE),
        share=0.2,
        max_seconds=120,
    ),
    _PROCESS,
    replace(
        _PROCESS,
        name="growth_process_small_pages",
        title=f"{_PROCESS.title}; data on small pages",
        setup=Setup(huge_pages=False),
        contenders=_with_waiting(_WORKERS, (_WAITING[0], _WAITING[-1])),
        goals=(),
    ),
)
