"""What does the look for stalled jobs cost the server with 10,000 active jobs: all in good hands, and all abandoned?

What counts is the longest script call, since everybody else waits meanwhile. The worker does nothing else: the queue is paused.
"""

from __future__ import annotations

from benches.contenders import NODE, bullrush, node, node_6
from benches.harness.question import Goal, Question
from benches.harness.upkeep import LONGEST_CALL, SERVER_MS, StalledCheck

_CONTENDERS = (
    node("check_stalled"),
    node_6("check_stalled"),
    bullrush("Worker", "check_stalled"),
)

QUESTIONS = tuple(
    Question(
        name=name,
        title=f"Stalled check of 10,000 active jobs, {condition}: what it costs the server",
        work=StalledCheck(stalled),
        contenders=_CONTENDERS,
        goals=(Goal("bullrush, Worker", NODE, aim=1.0),),
        figures=(LONGEST_CALL, SERVER_MS),
        share=10_000 / 30_000,
    )
    for name, condition, stalled in (
        ("stalled_none", "none stalled", False),
        ("stalled_all", "all stalled", True),
    )
)
