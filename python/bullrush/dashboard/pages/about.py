"""``/about``: what the pages cost Redis, which rights they lack, and what the recorder has not seen."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Final

from bullrush.dashboard.answer import Answer, Asked
from bullrush.dashboard.history import Memory
from bullrush.dashboard.pages.overview import overview
from bullrush.dashboard.refusal import refused
from bullrush.dashboard.shared import POLL_EVERY
from bullrush.doctor import Cost
from bullrush.errors import RedisServerError
from bullrush.extending import run_async
from bullrush.recorder import History, Remembered

#: The first page is read so often: what others have sent meanwhile is not in all of them.
_RUNS: Final = 3
#: So many queues with gaps are shown.
_MOST: Final = 100
#: A recorder that writes says so more often.
_SILENT_MS: Final = 5_000
_RIGHTS: Final = "BR009"


async def about(asked: Asked) -> Answer:
    """Return the page. What is of the whole server is for who may see all queues."""
    names = await asked.source.names.value()
    seen = await asked.viewer.seen(names.queues)
    content: dict[str, Any] = {
        "queues": len(seen),
        "everything": len(seen) == len(names.queues),
        "every": POLL_EVERY,
        "history": await _history(asked, seen),
    }
    if content["everything"]:
        content |= await _server(asked)
    return Answer("about.html", "About", content)


async def _server(asked: Asked) -> dict[str, Any]:
    report = await asked.source.report.value()
    names = await asked.source.names.value()
    try:
        cost, why = await _cost(asked), None
    except RedisServerError as error:
        cost, why = None, refused(error)
    return {
        "cost": cost,
        "cost_refused": why,
        "missing": [finding.detail for finding in report.findings if finding.code == _RIGHTS],
        "not_checked": report.skipped,
        "refused": None if names.refused is None else refused(names.refused),
    }


async def _cost(asked: Asked) -> dict[str, Any]:
    """Return what one look at the first page costs: at most so much, since others send commands, too."""
    costs = asked.source.costs
    took: list[float] = []
    runs: list[dict[str, Cost]] = []
    await overview(asked)  # which may look for queues and ask the doctor
    for _ in range(_RUNS):
        before = await run_async(costs.read())
        begin = time.monotonic()
        await overview(asked)
        took.append(time.monotonic() - begin)
        runs.append(_difference(before, await run_async(costs.read())))
    least = {name: _least(name, runs) for name in runs[0] if all(name in run for run in runs)}
    microseconds = sum(cost.microseconds for cost in least.values())
    return {
        "commands": sum(cost.calls for cost in least.values()),
        "microseconds": microseconds,
        "share": microseconds / 1_000_000 / POLL_EVERY,
        "took": round(min(took) * 1_000),
        "by_command": {
            name: cost._asdict() for name, cost in sorted(least.items(), key=lambda one: -one[1].microseconds)
        },
    }


def _difference(before: dict[str, Cost], after: dict[str, Cost]) -> dict[str, Cost]:
    found = {}
    for name, cost in after.items():
        calls, microseconds = before.get(name, (0, 0))
        if cost.calls > calls:
            found[name] = Cost(cost.calls - calls, cost.microseconds - microseconds)
    return found


def _least(name: str, runs: list[dict[str, Cost]]) -> Cost:
    return Cost(min(run[name].calls for run in runs), min(run[name].microseconds for run in runs))


async def _history(asked: Asked, seen: list[str]) -> dict[str, Any] | None:
    memory = asked.source.memory
    if memory is None:
        return None
    known = await memory.ask(partial(_remembered, seen)) or {}
    until = max((one.until for one in known.values()), default=None)
    flawed = {name: one for name, one in known.items() if one.gaps or one.share > 1}
    return {
        "file": memory.file.name,
        "bytes": _size(memory),
        "trouble": memory.trouble,
        "queues": len(known),
        "since": min((one.since for one in known.values()), default=None),
        "until": until,
        "is_written": until is not None and time.time() * 1_000 - until < _SILENT_MS,
        "flawed": [
            {
                "queue": name,
                "gaps": len(one.gaps),
                "last_gap": list(one.gaps[-1]) if one.gaps else None,
                "share": one.share,
            }
            for name, one in list(flawed.items())[:_MOST]
        ],
    }


def _remembered(seen: list[str], history: History) -> dict[str, Remembered]:
    return {name: known for name in seen if (known := history.remembered(name)) is not None}


def _size(memory: Memory) -> int:
    """Return how large the file is, with what SQLite has not put in its place yet."""
    parts = (memory.file, memory.file.with_name(f"{memory.file.name}-wal"))
    return sum(part.stat().st_size for part in parts if part.exists())
