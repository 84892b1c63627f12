"""How fast do many jobs get into a queue, from one process?

Knobs: how many jobs go into one ``addBulk``, which sends them as one pipeline. Each peer has its fastest size: of 50,
100, 250, 500, 1,000, 5,000 and 30,000 that is 50 to 250 for Node and makes little difference for Python. bullrush gets
all jobs in one call and cuts them itself.
"""

from __future__ import annotations

from benches.contenders import LIMIT, NODE, bullrush, limit, node, node_6, official_python, others, rust
from benches.harness.adding import Add
from benches.harness.contender import LONGEST_CALL, RATE, SERVER_US
from benches.harness.goals import AtMost, Times
from benches.harness.question import Goal, Question


def _goals(way: str, times: float) -> tuple[Goal, ...]:
    name = f"bullrush, {way}"
    return (
        Times(name, NODE, times),
        Times(name, LIMIT, 0.8),
        AtMost(name, SERVER_US, 4.2, beside=NODE, where=12),
        AtMost(name, LONGEST_CALL, 10),
    )


QUESTIONS = (
    Question(
        name="bulk_add",
        title="Bulk add: jobs per second from one process",
        work=Add(),
        contenders=(
            node("add_bulk", chunk=100),
            node_6("add_bulk", chunk=100),
            official_python("add_bulk", chunk=1_000),
            bullrush("add_bulk", "add_bulk"),
            bullrush("add_arrow", "add_arrow"),
            limit("add"),
            rust("add_bulk"),
            *others("add_bulk"),
        ),
        goals=(*_goals("add_bulk", times=5), *_goals("add_arrow", times=6)),
        figures=(RATE, LONGEST_CALL),
        share=2.0,
        core=True,
    ),
)
