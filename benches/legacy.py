"""How fast does a queue of Bull move to BullMQ, on the same server, with 100,000 waiting jobs?

The longest script call counts, too: it blocks all other clients, who go on with their work meanwhile.
"""

from __future__ import annotations

from benches.contenders import bullrush
from benches.harness.contender import LONGEST_CALL, RATE, SERVER_US, Figure
from benches.harness.goals import AtMost
from benches.harness.moving import Move
from benches.harness.question import Question

_SECONDS = Figure("seconds", "s", digits=1)
_OURS = "bullrush, LegacyQueue.migrate"

QUESTIONS = (
    Question(
        name="legacy",
        title="Moving a queue of Bull to BullMQ on the same server",
        work=Move(),
        contenders=(bullrush("LegacyQueue.migrate", "migrate"),),
        goals=(AtMost(_OURS, _SECONDS, 20), AtMost(_OURS, LONGEST_CALL, 5)),
        figures=(_SECONDS, RATE, LONGEST_CALL, SERVER_US),
        share=100_000 / 30_000,
        rounds=3,
    ),
)
