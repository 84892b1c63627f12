"""How long does ``bullrush worker`` take to start, beside bare Python?

With an empty queue and ``--burst``, so the end counts, too. ``--check`` only imports and connects.
"""

from __future__ import annotations

from benches.contenders import bullrush
from benches.harness.contender import Contender
from benches.harness.goals import AtMost
from benches.harness.question import Question
from benches.harness.starting import CPU_OVER_BARE, OVER_BARE, Start

_WORKER = ("-m", "bullrush", "worker", "benches.peers.spin:spin", "-Q", "QUEUE")


def _program(name: str, *words: str) -> Contender:
    # The peer itself has nothing to do: the work starts the program.
    return bullrush(name, "process", {"words": words})


QUESTIONS = (
    Question(
        name="worker_start",
        title="Starting Python with bullrush: milliseconds more than bare Python",
        work=Start(),
        contenders=(
            _program("import bullrush", "-c", "import bullrush"),
            _program("worker --check", *_WORKER, "--check"),
            _program("worker --burst", *_WORKER, "--burst"),
        ),
        goals=(AtMost("bullrush, worker --burst", OVER_BARE, 300),),
        figures=(OVER_BARE, CPU_OVER_BARE),
    ),
)
