"""``/failures``: which failures are one failure, over all queues."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bullrush.aio import Queue
from bullrush.dashboard.answer import Answer, Asked
from bullrush.dashboard.commands import command
from bullrush.dashboard.history.rates import MINUTE_MS, MINUTES
from bullrush.dashboard.pages.all.connections import Connected, connections
from bullrush.dashboard.pages.all.queues import choose, readable
from bullrush.dashboard.pages.failures import shown_label
from bullrush.dashboard.pages.onset import onset
from bullrush.errors import RedisServerError
from bullrush.extending import now_ms
from bullrush.inspection import FailureGroup

#: So many queues are read, those with most failures.
_MOST_QUEUES: Final = 50
#: So many failed jobs are looked at in all, those of each queue that failed last, and at least so many of each.
_LOOKED_AT: Final = 10_000
_AT_LEAST: Final = 200
#: So many groups, queues of a group and names are shown.
_MOST: Final = 100
_SHOWN: Final = 5


@dataclass
class _Failure:
    """A failure in several queues.

    Attributes:
        parts: its jobs in each queue.
    """

    parts: list[tuple[Queue, FailureGroup]] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(group.count for _, group in self.parts)

    @property
    def first(self) -> int | None:
        return min((group.first for _, group in self.parts if group.first is not None), default=None)

    @property
    def last(self) -> int | None:
        return max((group.last for _, group in self.parts if group.last is not None), default=None)


async def all_failures(asked: Asked) -> Answer:
    """Return the page, of the queues whose data the viewer may see: the text of an error may quote them."""
    queues = await readable(asked, "view", "data")
    chosen = await choose(queues, lambda found: found.failed, _MOST_QUEUES)
    newest = max(_AT_LEAST, _LOOKED_AT // max(1, len(chosen.queues)))
    groups = await asyncio.gather(*(_groups(queue, newest) for queue, _ in chosen.queues))
    failures: dict[str, _Failure] = {}
    for (queue, _), found in zip(chosen.queues, groups, strict=True):
        for group in found:
            failures.setdefault(group.id, _Failure()).parts.append((queue, group))
    ordered = sorted(failures.values(), key=lambda one: (-one.count, one.parts[0][1].id))
    connected = await connections([queue for queue, _ in chosen.queues])
    content = {
        "groups": [await _shown(asked, one, connected or []) for one in ordered[:_MOST]],
        "more_groups": max(0, len(ordered) - _MOST),
        "looked_at": sum(one.count for one in ordered),
        "failed": sum(found.failed for _, found in chosen.queues),
        "queues": len(chosen.queues),
        "left_out": chosen.left_out,
    }
    return Answer("all_failures.html", "Failures", content)


async def _groups(queue: Queue, newest: int) -> list[FailureGroup]:
    """Return the failures of a queue. One that cannot be read must not hide all others; the first page says so."""
    try:
        return await queue.failures(newest)
    except RedisServerError:
        return []


async def _shown(asked: Asked, failure: _Failure, connected: Sequence[Connected]) -> dict[str, Any]:
    failure.parts.sort(key=lambda part: -part[1].count)
    queue, group = failure.parts[0]
    names: Counter[str] = Counter()
    for _, part in failure.parts:
        names.update(part.names)
    return {
        "id": group.id,
        "count": failure.count,
        "label": await shown_label(asked, queue.name, group),
        "first": failure.first,
        "last": failure.last,
        "minutes": _minutes(failure),
        "onset": onset(failure.first, {queue.name for queue, _ in failure.parts}, connected),
        "names": [] if asked.masks.needed else [{"name": name, "count": n} for name, n in names.most_common(_SHOWN)],
        "more_names": max(0, len(names) - _SHOWN),
        "queues": [await _part(asked, *part) for part in failure.parts[:_SHOWN]],
        "more_queues": max(0, len(failure.parts) - _SHOWN),
    }


async def _part(asked: Asked, queue: Queue, group: FailureGroup) -> dict[str, Any]:
    return {
        "queue": queue.name,
        "count": group.count,
        "last": group.last,
        "sample": group.job_ids[0],
        "may_run": await asked.viewer.may("run", queue.name),
        "command": command(["jobs", "retry", "--failure", group.id], [queue.name], asked.source.prefix),
    }


def _minutes(failure: _Failure) -> list[int]:
    """Return how many of these jobs failed in each of the last minutes, the oldest minute first."""
    now = now_ms() // MINUTE_MS
    counts = Counter(
        now - at // MINUTE_MS for _, group in failure.parts for at in group.times if at is not None and at > 0
    )
    return [counts[ago] for ago in range(MINUTES - 1, -1, -1)]
