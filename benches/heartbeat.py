"""What does it cost the server, and the worker, to keep the locks of 10,000 jobs alive?

Renewals are measured with a lock duration of 10 seconds, so that there are enough of them. A share of a core is what
the same renewals cost with the default: all locks every 15 seconds.
"""

from __future__ import annotations

from benches.contenders import NODE, bullrush, node, node_6
from benches.harness.contender import LONGEST_CALL
from benches.harness.goals import AtMost
from benches.harness.question import Question
from benches.harness.upkeep import CLIENT_CORE, SERVER_CORE, SERVER_MS, Heartbeat

QUESTIONS = (
    Question(
        name="heartbeat",
        title="Heartbeat of 10,000 locks: what each renewal of them all costs the server",
        work=Heartbeat(),
        contenders=(node("hold"), node_6("hold"), bullrush("async def", "hold")),
        goals=tuple(AtMost("bullrush, async def", core, 1, beside=NODE) for core in (SERVER_CORE, CLIENT_CORE)),
        figures=(SERVER_MS, SERVER_CORE, CLIENT_CORE, LONGEST_CALL),
        share=10_000 / 30_000,
        rounds=2,
    ),
)
