"""How fast are flows of one parent and ten children added, and how fast are they worked?"""

from __future__ import annotations

from benches.contenders import bullmq, bullrush, bullrush_workers
from benches.harness.adding import Add
from benches.harness.processing import Process
from benches.harness.question import Question

_CHILDREN = 10

QUESTIONS = (
    Question(
        name="add_flows",
        title="Flows of 1 parent and 10 children: jobs added per second",
        work=Add(children=_CHILDREN),
        contenders=(
            *bullmq("add_flows", python_share=0.5, chunk=10),
            bullrush("FlowProducer.add_bulk", "add_flows", {"chunk": 100}),
        ),
        share=0.1,
    ),
    Question(
        name="process_flows",
        title="Flows of 1 parent and 10 children, concurrency 100: jobs processed per second",
        work=Process(children=_CHILDREN),
        contenders=(*bullmq("process", python_share=0.2, worker={"concurrency": 100}), *bullrush_workers(100)),
        share=0.1,
    ),
)
