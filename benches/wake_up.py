"""How long after one call with a job for each does the last of 200 idle workers start?

Each worker has one slot, and a round trip to Redis takes 2 ms. A marker wakes one worker, and its claim the next one;
with ``fan_out`` there is a marker for each. Workers of Node wake by them, too.
"""

from __future__ import annotations

from dataclasses import replace

from benches.contenders import bullrush, node
from benches.harness.goals import Times
from benches.harness.question import Question
from benches.harness.waking import LAST_START, MEDIAN_START, WakeUp

_PROCESSES = 4
_OF_NODE = 40
_MIXED = f"{_OF_NODE} of Node"

QUESTIONS = (
    Question(
        name="wake_up",
        title="Waking 200 idle workers, 2 ms from Redis: milliseconds from one add_bulk until the last one starts",
        work=WakeUp(node("wake")),
        contenders=tuple(
            replace(
                bullrush(f"{way}{mix}", "wake", {"fan_out": way == "fan_out", "of_node": of_node}), processes=_PROCESSES
            )
            for of_node, mix in ((0, ""), (_OF_NODE, f", {_MIXED}"))
            for way in ("one after another", "fan_out")
        ),
        goals=tuple(
            Times(f"bullrush, fan_out{mix}", f"bullrush, one after another{mix}", 5) for mix in ("", f", {_MIXED}")
        ),
        figures=(LAST_START, MEDIAN_START),
    ),
)
