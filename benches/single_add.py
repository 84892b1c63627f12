"""How fast do jobs get into a queue one at a time, each acknowledged before the next one is sent?

This is the round trip: the wire, one small script and what the client does around it.
"""

from __future__ import annotations

from benches.contenders import NODE, bullmq, bullrush, limit, others, rust
from benches.harness.adding import Add
from benches.harness.contender import CALLS
from benches.harness.goals import AtMost, Times
from benches.harness.question import Question
from benches.harness.script_calls import GOALS

QUESTIONS = (
    Question(
        name="single_add",
        title="Single add: jobs per second, one after another",
        work=Add(),
        contenders=(
            *bullmq("add", python_share=0.5),
            bullrush("Queue.add", "add"),
            bullrush("aio.Queue.add", "add_async"),
            limit("add", chunk=1, window=1),
            rust("add"),
            *others("add", share=2.0),
        ),
        goals=(
            Times("bullrush, Queue.add", NODE, 1),
            Times("bullrush, aio.Queue.add", NODE, 1),
            AtMost("bullrush, Queue.add", CALLS, GOALS["add"], beside=NODE),
        ),
        share=0.15,
        core=True,
    ),
)
