"""Cutting the jobs of a queue into windows of about equal size, which different places can read at the same time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bullrush.errors import InvalidOptionError
from bullrush.extending import FINISHED, STATES, nearest

if TYPE_CHECKING:
    import pyarrow

    from bullrush.arrow.reader import ArrowReader
    from bullrush.queue import Queue


@dataclass(frozen=True)
class Window:
    """Some of the jobs of one state.

    Attributes:
        state: the state.
        by: ``scores``: jobs that were finished at ``start < time <= stop``, in ms; None has no bound. ``ranks``: those
            with the places ``start`` to ``stop`` - 1.
        start: where it begins.
        stop: where it ends.
        size: about how many jobs it has.
    """

    state: str
    by: Literal["scores", "ranks"]
    start: int | None
    stop: int | None
    size: int = 0

    def read(self, reader: ArrowReader) -> Iterator[pyarrow.RecordBatch]:
        """Read the jobs of this window.

        Args:
            reader: what reads the jobs of the queue.
        """
        if self.by == "scores":
            return reader.scores(self.state, self.start, self.stop)
        return reader.ranks(self.state, self.start or 0, self.stop)


def check_states(states: Sequence[str]) -> tuple[str, ...]:
    """Return states, each once.

    Raises:
        InvalidOptionError: there is no such state, or none is given.
    """
    if isinstance(states, str):
        raise InvalidOptionError(f"states is a list of states: [{states!r}]")
    for state in states:
        if state not in STATES:
            raise InvalidOptionError(f"There is no state {state!r}.{nearest(state, STATES)}")
    if not states:
        raise InvalidOptionError("states has no state")
    return tuple(dict.fromkeys(states))


def plan_windows(
    queue: Queue, states: Sequence[str], partitions: int, *, finished_after: int | None = None
) -> list[list[Window]]:
    """Cut the jobs that are in some states now into at most ``partitions`` parts of about equal size.

    Finished jobs are cut by the time of their end: every job that is finished now is in exactly one window, also if
    others are removed meanwhile. Jobs of other states are cut by place; one that moves while the windows are read may
    be read twice or not at all.

    Args:
        queue: the queue.
        states: the states. ``waiting`` includes the jobs of a paused queue, whose state is ``paused``.
        partitions: at most how many parts.
        finished_after: ms; only jobs that were finished later.

    Raises:
        InvalidOptionError: there is no such state, or ``finished_after`` is given for jobs that are not finished.

    Redis:
        A count per state in one pipeline, one more with ``finished_after``, and a command of O(log n) per window.
    """
    states = check_states(states)
    if "waiting" in states:
        states = tuple(dict.fromkeys((*states, "paused")))
    if finished_after is not None and (wrong := [state for state in states if state not in FINISHED]):
        raise InvalidOptionError(f"Jobs in state {wrong[0]} have no time of their end: leave it out, or finished_after")
    counts = _count(queue, states, finished_after)
    size = max(1, -(-sum(count for _, count in counts) // partitions))
    windows: list[Window] = []
    for state, (total, count) in zip(states, counts, strict=True):
        parts = -(-count // size)
        ends = [count * part // parts for part in range(1, parts + 1)]
        if state in FINISHED:
            windows += _by_time(queue, state, finished_after, [total - count + end for end in ends], size)
        else:
            windows += [
                Window(state, "ranks", start, stop, stop - start) for start, stop in zip([0, *ends], ends, strict=False)
            ]
    return _spread(windows, partitions)


def redis_time(queue: Queue) -> int:
    """Return the clock of Redis in ms since 1970: one round trip.

    Args:
        queue: a queue of that Redis.
    """
    return queue.core.server_time().wait()


def _count(queue: Queue, states: Sequence[str], after: int | None) -> list[tuple[int, int]]:
    """Return for each state how many jobs it has, and how many of them were finished after ``after``."""
    totals = queue.core.count_states([STATES[state] for state in states]).wait()
    later = totals if after is None else queue.core.count_finished([(state, after, None) for state in states]).wait()
    return [(max(total, count), count) for total, count in zip(totals, later, strict=True)]


def _by_time(queue: Queue, state: str, after: int | None, ends: Sequence[int], size: int) -> list[Window]:
    if not ends:
        return []
    # The last job is asked for by itself: others may enter or leave the set meanwhile.
    places = [*(end - 1 for end in ends[:-1]), -1]
    times = queue.core.times_of_finished([(state, place) for place in places]).wait()
    if times[-1] is None:
        return []
    known = [time for time in times if time is not None]
    # Other clients may write scores with fractions, or infinite ones, which only a window without an end has.
    cuts = {math.ceil(time) for time in known if math.isfinite(time)}
    ends_at: list[int | None] = [*sorted(cut for cut in cuts if after is None or cut > after)]
    if math.inf in known:
        ends_at.append(None)
    return [Window(state, "scores", start, stop, size) for start, stop in zip([after, *ends_at], ends_at, strict=False)]


def _spread(windows: Sequence[Window], partitions: int) -> list[list[Window]]:
    parts: list[list[Window]] = [[] for _ in range(partitions)]
    for window in sorted(windows, key=lambda window: -window.size):
        min(parts, key=lambda part: sum(other.size for other in part)).append(window)
    return [part for part in parts if part]
