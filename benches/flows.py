"""How fast are flows of one parent and ten children added, and how fast are they worked?"""

from __future__ import annotations

from benches.contenders import NODE, bullrush, bullrush_worker, node, node_6, official_python
from benches.harness.adding import Add
from benches.harness.processing import Process
from benches.harness.question import Goal, Question

_CHILDREN = 10
_WORKER = {"concurrency": 100}

QUESTIONS = (
    Question(
        name="add_flows",
        title="Flows of 1 parent and 10 children: jobs added per second",
        work=Add(children=_CHILDREN),
        contenders=(
            node("add_flows", chunk=10),
            node_6("add_flows", chunk=10),
            official_python("add_flows", chunk=10, share=0.5),
            bullrush("FlowProducer.add_bulk", "add_flows", {"chunk": 100}),
        ),
        goals=(Goal("bullrush, FlowProducer.add_bulk", NODE, aim=2.0),),
        share=0.1,
    ),
    Question(
        name="process_flows",
        title="Flows of 1 parent and 10 children, concurrency 100: jobs processed per second",
        work=Process(children=_CHILDREN),
        contenders=(
            node("process", worker=_WORKER),
            node_6("process", worker=_WORKER),
            official_python("process", share=0.2, worker=_WORKER),
            bullrush_worker("def", concurrency=100),
            bullrush_worker("async def", "async def", concurrency=100),
        ),
        goals=(Goal("bullrush, def", NODE, aim=2.0),),
        share=0.1,
    ),
)
