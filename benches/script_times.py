"""How long does each call of a script keep the server, p50 and p99, while a worker with 100 slots works?

Each call, by the server's own log: so much longer the calls of all other clients wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benches.contenders import bullrush
from benches.harness.contender import Contender
from benches.harness.goals import AtMost
from benches.harness.latency import P50, P99, ScriptTimes
from benches.harness.question import Question

#: The least time that lets a worker renew the locks of jobs that run.
_RENEWED: Mapping[str, Any] = {"sleep": 600, "worker": {"concurrency": 100, "lock_duration": 1_000}}


def _script(name: str, script: str, task: str = "process", share: float = 1.0, **options: Any) -> Contender:
    worker = {"handler": "def", "act": "report", "worker": {"concurrency": 100}}
    return bullrush(name, task, {**worker, "script": script, **options}, share)


_SCRIPTS = (
    _script("finish and fetch the next jobs", "finish/move_to_finished"),
    _script("fetch, by hand", "fetch/move_to_active", "by_hand"),
    _script("update_progress", "manage/update_progress"),
    _script("log", "manage/add_log"),
    _script("extend locks", "lock/extend_locks", share=0.3, act="sleep", **_RENEWED),
)

QUESTIONS = (
    Question(
        name="script_times",
        title="Scripts of a worker, concurrency 100: milliseconds in which each call keeps the server",
        work=ScriptTimes(),
        contenders=_SCRIPTS,
        goals=tuple(AtMost(contender.name, P99, 10) for contender in _SCRIPTS),
        figures=(P99, P50),
        share=0.2,
    ),
)
