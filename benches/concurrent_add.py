"""How fast do jobs get into a queue with 100 calls of ``add`` in flight, as in a service under load?"""

from __future__ import annotations

from benches.contenders import NODE, bullrush, limit, node, node_6, official_python, others, rust
from benches.harness.adding import Add
from benches.harness.question import Goal, Question

_INFLIGHT = 100

QUESTIONS = (
    Question(
        name="concurrent_add",
        title="Concurrent add: jobs per second, 100 calls in flight",
        work=Add(ordered=False),
        contenders=(
            node("add_concurrent", inflight=_INFLIGHT),
            node_6("add_concurrent", inflight=_INFLIGHT),
            official_python("add_concurrent", share=0.5, inflight=_INFLIGHT),
            bullrush("Queue.add in threads", "add_threads", {"inflight": _INFLIGHT}),
            bullrush("aio.Queue.add", "add_async", {"inflight": _INFLIGHT}),
            limit("add", chunk=1, window=_INFLIGHT),
            rust("add_concurrent", inflight=_INFLIGHT),
            *others("add_concurrent", inflight=_INFLIGHT),
        ),
        goals=(Goal("bullrush, aio.Queue.add", NODE, aim=1.0),),
        share=0.5,
        core=True,
    ),
)
