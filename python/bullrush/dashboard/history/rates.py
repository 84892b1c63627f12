"""How much comes into a queue and goes out, lately."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bullrush.recorder import History, MinuteCounts

#: So many minutes have a bar in the little chart; the last one goes on.
MINUTES: Final = 30
#: So many minutes are read again: a recorder may be late.
_LATE: Final = 3
MINUTE_MS: Final = 60_000


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


class Minutes:
    """The counts of all queues in the last minutes. Those that are long over are read once."""

    def __init__(self) -> None:
        self._known: dict[str, dict[int, MinuteCounts]] = {}

    def rates(self, history: History, queues: Sequence[str]) -> dict[str, Rates]:
        """Return the rates of those queues that the history knows."""
        now = int(time.time() * 1_000)
        recorded = set(history.queues())
        self._known = {name: self._minutes(history, name, now) for name in queues if name in recorded}
        return {name: _rates(list(minutes.values()), now) for name, minutes in self._known.items()}

    def _minutes(self, history: History, queue: str, now: int) -> dict[int, MinuteCounts]:
        first = (now // MINUTE_MS - MINUTES + 1) * MINUTE_MS
        known = {begin: one for begin, one in self._known.get(queue, {}).items() if begin >= first}
        since = max(max(known) - _LATE * MINUTE_MS, first) if known else first
        return known | {one.begin: one for one in history.minutes(queue, since, now)}


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
