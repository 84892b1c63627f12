"""What does the stalled check cost the server with 10,000 active jobs: all with locks, and all without?

The longest script call counts, since it blocks all other clients. The worker does nothing else: the queue is paused.
"""

from __future__ import annotations

from benches.contenders import NODE, bullrush, node, node_6
from benches.harness.contender import LONGEST_CALL
from benches.harness.goals import AtMost
from benches.harness.question import Question
from benches.harness.upkeep import SERVER_MS, StalledCheck

_OURS = "bullrush, Worker"

QUESTIONS = tuple(
    Question(
        name=name,
        title=f"Stalled check of 10,000 active jobs, {condition}: what it costs the server",
        work=StalledCheck(stalled),
        contenders=(node("check_stalled"), node_6("check_stalled"), bullrush("Worker", "check_stalled")),
        goals=(AtMost(_OURS, SERVER_MS, 100, beside=NODE), AtMost(_OURS, LONGEST_CALL, 100, beside=NODE)),
        figures=(LONGEST_CALL, SERVER_MS),
        share=10_000 / 30_000,
    )
    for name, condition, stalled in (
        ("stalled_none", "none stalled", False),
        ("stalled_all", "all stalled", True),
    )
)
