"""What does it cost the server to keep the locks of 10,000 jobs alive?"""

from __future__ import annotations

from benches.contenders import NODE, bullrush, node, node_6
from benches.harness.question import Goal, Question
from benches.harness.upkeep import LONGEST_CALL, SERVER_MS, Heartbeat

QUESTIONS = (
    Question(
        name="heartbeat",
        title="Heartbeat of 10,000 locks: what each renewal of them all costs the server",
        work=Heartbeat(),
        contenders=(node("hold"), node_6("hold"), bullrush("async def", "hold")),
        goals=(Goal("bullrush, async def", NODE, aim=1.0),),
        figures=(SERVER_MS, LONGEST_CALL),
        share=10_000 / 30_000,
    ),
)
