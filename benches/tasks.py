"""What do tasks cost beside the calls that they make: typed arguments, and a handler for each name?

The signature has plain JSON types only, as the data has. `Queue.add` and `add_bulk` get finished dicts; for tasks the
time of the typed calls counts, too.
"""

from __future__ import annotations

import sys

from benches.harness.adding import Add
from benches.harness.contender import Contender
from benches.harness.goals import Times
from benches.harness.processing import Process
from benches.harness.question import Question

_PEER = (sys.executable, "-m", "benches.peers", "bullrush_tasks")


def _contender(name: str, task: str, **options: object) -> Contender:
    return Contender(f"bullrush, {name}", _PEER, task, options)


_WORKER = {"concurrency": 100}

QUESTIONS = (
    Question(
        name="task_enqueue",
        title="Tasks, one at a time: jobs per second, one after another",
        work=Add(),
        contenders=(_contender("Queue.add", "add"), _contender("Task.enqueue", "enqueue")),
        goals=(Times("bullrush, Task.enqueue", "bullrush, Queue.add", 0.9),),
        share=0.15,
    ),
    Question(
        name="task_enqueue_many",
        title="Tasks in bulk: jobs per second from one process",
        work=Add(),
        contenders=(_contender("Queue.add_bulk", "add_bulk"), _contender("enqueue_many", "enqueue_all")),
        goals=(Times("bullrush, enqueue_many", "bullrush, Queue.add_bulk", 0.5),),
    ),
    Question(
        name="task_process",
        title="Tasks, concurrency 100: no-op jobs per second in one worker process",
        work=Process(),
        contenders=(
            _contender("a handler", "process", handler="def", worker=_WORKER),
            _contender("a handler by name", "process_by_name", worker=_WORKER),
            _contender("Worker(tasks)", "process_tasks", worker=_WORKER),
        ),
        goals=(
            Times("bullrush, a handler by name", "bullrush, a handler", 0.95),
            Times("bullrush, Worker(tasks)", "bullrush, a handler", 0.85),
        ),
    ),
)
