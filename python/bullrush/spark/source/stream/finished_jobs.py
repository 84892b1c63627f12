"""Finished jobs in the order of time: how many there are up to a moment, and where to cut.

A job is in the sorted set of its state with the time in ms at which its worker says that it finished. All calls here
cost Redis a few steps each, however many jobs there are; none reads a job.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Final

from bullrush.arrow import Window, redis_time
from bullrush.queue import Queue

#: Into how many parts one round trip cuts the time in which a limit is reached.
_PROBES: Final = 16

#: A task of its own does not pay for fewer jobs than this.
_LEAST: Final = 1_000


class FinishedJobs:
    """Counts the finished jobs of a queue."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    def now(self) -> int:
        """Return the time of Redis in ms."""
        return redis_time(self._queue)

    def counts(self, windows: Sequence[tuple[str, int | None, int]]) -> list[int]:
        """Return how many jobs finished in each ``(state, after, until)``. ``after`` None is from the beginning on."""
        return self._queue.core.count_finished(windows).wait()

    def first_after(self, positions: Mapping[str, int]) -> int | None:
        """Return when the first job finished after these moments (state -> ms); None if there is none."""
        ranks = self.counts([(state, None, after) for state, after in positions.items()])
        scores = self._scores([(state, rank) for state, rank in zip(positions, ranks, strict=True)])
        return min((score for score in scores if score is not None), default=None)

    def last(self, states: Sequence[str]) -> int | None:
        """Return when the last job finished; None if there is none."""
        return max(
            (score for score in self._scores([(state, -1) for state in states]) if score is not None), default=None
        )

    def cut(self, positions: Mapping[str, int], until: int, limit: int) -> int:
        """Return the latest moment up to ``until`` to which at most ``limit`` jobs finished after these moments.

        A cut never divides a millisecond. If the first one alone has more jobs than the limit, the cut is after it.
        """
        first = self.first_after(positions)
        if first is None or first >= until:
            return until
        low, high = first, until + 1  # `low` is taken; what ends at `high` is too much, or not yet allowed
        while high - low > 1:
            step = max(1, (high - low) // _PROBES)
            probes = list(range(low + step, high, step))
            sums = self._sums(positions, probes)
            fitting = [probe for probe, total in zip(probes, sums, strict=True) if total <= limit]
            low, high = (
                max(fitting, default=low),
                min((probe for probe in probes if probe not in set(fitting)), default=high),
            )
        return low

    def split(self, window: Window, parts: int) -> list[Window]:
        """Cut a window into at most ``parts`` windows with about the same number of jobs, at whole ms."""
        state, after, until, size = window.state, window.start or 0, window.stop or 0, window.size
        if size == 0:
            return []
        (before,) = self.counts([(state, None, after)])
        ranks = [(state, before + part * size // parts - 1) for part in range(1, parts)]
        inner = {score for score in self._scores(ranks) if score is not None and after < score < until}
        pairs = list(itertools.pairwise([after, *sorted(inner), until]))
        counts = self.counts([(state, *pair) for pair in pairs])
        return [window_of(state, *pair, found) for pair, found in zip(pairs, counts, strict=True) if found]

    def share(self, windows: Sequence[Window], tasks: int) -> list[Window]:
        """Cut windows for at most about ``tasks`` tasks, but not into parts of less than `_LEAST` jobs."""
        total = sum(window.size for window in windows)
        parts: list[Window] = []
        for window in windows:
            share = min(-(-tasks * window.size // max(1, total)), -(-window.size // _LEAST))
            parts += self.split(window, max(1, share))
        return parts

    def _sums(self, positions: Mapping[str, int], moments: Sequence[int]) -> list[int]:
        """Return for each moment how many jobs finished from the positions to it."""
        counts = self.counts([(state, after, until) for until in moments for state, after in positions.items()])
        width = len(positions)
        return [sum(counts[first : first + width]) for first in range(0, len(counts), width)]

    def _scores(self, ranks: Sequence[tuple[str, int]]) -> list[int | None]:
        return [None if time is None else int(time) for time in self._queue.core.times_of_finished(ranks).wait()]


def window_of(state: str, after: int, until: int, size: int) -> Window:
    """Return the window of the jobs of a state that finished in ``after < time <= until``, in ms."""
    return Window(state, "scores", after, until, size)
