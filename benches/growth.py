"""Does a job cost more when many others wait? From 1,000 to a million waiting jobs, adding one at a time and processing."""

from __future__ import annotations

from benches.contenders import bullrush, bullrush_worker, node, variant
from benches.harness.adding import Add
from benches.harness.processing import Process
from benches.harness.question import Contender, Figure, Question

_WAITING = (1_000, 10_000, 100_000, 1_000_000)
_FIGURES = (Figure("server_us", "server us/job", digits=1), Figure("rate", "jobs/s", rising=True))


def _with_waiting(*contenders: Contender) -> tuple[Contender, ...]:
    return tuple(
        variant(contender, f"{waiting:,} waiting", waiting=waiting) for contender in contenders for waiting in _WAITING
    )


QUESTIONS = (
    Question(
        name="growth_add",
        title="Single add to a queue in which many wait: server time per job",
        work=Add(ordered=False),
        contenders=_with_waiting(node("add"), bullrush("Queue.add", "add")),
        figures=_FIGURES,
        share=0.1,
    ),
    Question(
        name="growth_process",
        title="Process jobs of a queue in which many wait, concurrency 100: server time per job",
        work=Process(),
        contenders=_with_waiting(
            node("process", worker={"concurrency": 100}),
            bullrush_worker("def", concurrency=100),
        ),
        figures=_FIGURES,
        share=0.5,
    ),
)
