"""How fast do jobs get into a queue with 100 calls of ``add`` in flight, as in a service under load?"""

from __future__ import annotations

from benches.contenders import bullmq, bullrush, limit, others, rust
from benches.harness.adding import Add
from benches.harness.question import Question

_INFLIGHT = 100

QUESTIONS = (
    Question(
        name="concurrent_add",
        title="Concurrent add: jobs per second, 100 calls in flight",
        work=Add(ordered=False),
        contenders=(
            *bullmq("add_concurrent", python_share=0.5, inflight=_INFLIGHT),
            bullrush("Queue.add in threads", "add_threads", {"inflight": _INFLIGHT}),
            bullrush("aio.Queue.add", "add_async", {"inflight": _INFLIGHT}),
            limit("add", chunk=1, window=_INFLIGHT),
            rust("add_concurrent", inflight=_INFLIGHT),
            *others("add_concurrent", inflight=_INFLIGHT),
        ),
        share=0.5,
        core=True,
    ),
)
