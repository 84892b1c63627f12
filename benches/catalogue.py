"""All questions, in the order of the documentation."""

from __future__ import annotations

from benches import (
    bulk_add,
    concurrent_add,
    delayed,
    fleet,
    flows,
    growth,
    heartbeat,
    legacy,
    memory,
    payload_size,
    persistence,
    pick_up,
    process,
    script_times,
    single_add,
    slow_handlers,
    spark,
    stalled,
    tasks,
    thread_switches,
    under_load,
    wake_up,
    worker_processes,
    worker_start,
)
from benches.harness.question import Question

_MODULES = (
    bulk_add,
    single_add,
    concurrent_add,
    thread_switches,
    process,
    pick_up,
    script_times,
    under_load,
    wake_up,
    worker_processes,
    worker_start,
    slow_handlers,
    flows,
    delayed,
    stalled,
    heartbeat,
    memory,
    growth,
    legacy,
    fleet,
    tasks,
    payload_size,
    persistence,
    spark,
)
QUESTIONS: dict[str, Question] = {question.name: question for module in _MODULES for question in module.QUESTIONS}
