"""How much comes into a queue and goes out, lately."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bullrush.recorder import History, MinuteCounts

#: So many minutes have a bar in the little chart; the last one goes on.
MINUTES: Final = 30
_MINUTE_MS: Final = 60_000


@dataclass(frozen=True)
class Rates:
    """What came and went in the last minutes.

    Attributes:
        added: jobs per second in the last one to two minutes.
        ended: the same for jobs that completed or failed for good.
        exact: nothing may be missing in these; else there were at least so many.
        since: when the first minute began, in ms since 1970.
        completed: jobs per minute, the oldest minute first.
        failed: the same for those that failed for good.
        known: for each minute, whether nothing may be missing.
    """

    added: float
    ended: float
    exact: bool
    since: int
    completed: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    known: list[bool] = field(default_factory=list)

    def content(self) -> dict[str, Any]:
        """Return what stands in a page."""
        return vars(self)


def rates_of(history: History, queues: Sequence[str]) -> dict[str, Rates]:
    """Return the rates of those queues that the history knows."""
    now = int(time.time() * 1_000)
    known = set(history.queues())
    return {
        name: _rates(history.minutes(name, now - (MINUTES - 1) * _MINUTE_MS, now), now)
        for name in queues
        if name in known
    }


def _rates(minutes: list[MinuteCounts], now: int) -> Rates:
    lately = minutes[-2:]
    seconds = (now - lately[0].begin) / 1_000
    return Rates(
        added=sum(one.added for one in lately) / seconds,
        ended=sum(one.completed + one.failed for one in lately) / seconds,
        exact=all(one.complete for one in lately),
        since=minutes[0].begin,
        completed=[one.completed for one in minutes],
        failed=[one.failed for one in minutes],
        known=[one.complete for one in minutes],
    )
