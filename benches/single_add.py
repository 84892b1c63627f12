"""How fast do jobs get into a queue one at a time, each acknowledged before the next one is sent?

This is the round trip: the wire, one small script and what the client does around it.
"""

from __future__ import annotations

from benches.contenders import NODE, bullrush, limit, node, node_6, official_python, others, rust
from benches.harness.adding import Add
from benches.harness.question import Goal, Question

QUESTIONS = (
    Question(
        name="single_add",
        title="Single add: jobs per second, one after another",
        work=Add(),
        contenders=(
            node("add"),
            node_6("add"),
            official_python("add", share=0.5),
            bullrush("Queue.add", "add"),
            bullrush("aio.Queue.add", "add_async"),
            limit("add", chunk=1, window=1),
            rust("add"),
            *others("add", share=2.0),
        ),
        goals=(Goal("bullrush, Queue.add", NODE, aim=1.0),),
        share=0.15,
        core=True,
    ),
)
