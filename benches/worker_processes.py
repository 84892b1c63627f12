"""How well do handlers that compute use several processors, with ``bullrush worker -p N``?

20 ms of CPU per job: one process runs at most 50 jobs per second, whatever its concurrency, since Python holds the GIL.
"""

from __future__ import annotations

from benches.contenders import bullrush
from benches.harness.commanding import Command
from benches.harness.contender import Contender
from benches.harness.goals import Times
from benches.harness.question import Question


def _processes(number: int) -> Contender:
    # The peer itself has nothing to do: the work starts the command.
    return bullrush(f"-p {number}", "process", {"p": number})


QUESTIONS = (
    Question(
        name="worker_processes",
        title="Handlers of 20 ms CPU: jobs per second of bullrush worker with 1 and 2 processes",
        work=Command("benches.peers.spin:spin"),
        contenders=(_processes(1), _processes(2)),
        goals=(Times("bullrush, -p 2", "bullrush, -p 1", 1.8),),
        share=200 / 30_000,
    ),
)
