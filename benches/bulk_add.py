"""How fast do many jobs get into a queue, from one process?

Knobs: the chunk of BullMQ's ``addBulk``. It sends a chunk as one pipeline; 1,000 is where it is fastest, and more only costs memory.
bullrush gets all jobs in one call and cuts them itself.
"""

from __future__ import annotations

from benches.contenders import NODE, bullrush, node, official_python
from benches.harness.question import Goal, Question

_CHUNK = 1_000

QUESTIONS = (
    Question(
        name="bulk_add",
        title="Bulk add: jobs per second from one process",
        work="add",
        contenders=(
            node("add_bulk", chunk=_CHUNK),
            official_python("add_bulk", chunk=_CHUNK),
            bullrush("add_bulk", "add_bulk"),
            bullrush("add_arrow", "add_arrow"),
        ),
        goals=(
            Goal("bullrush, add_bulk", NODE, at_least=2.0, aim=5.0),
            Goal("bullrush, add_arrow", NODE, at_least=2.0, aim=6.0),
        ),
    ),
)
