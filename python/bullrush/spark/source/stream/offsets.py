"""The offsets of a stream of finished jobs: up to which moment it has read.

An offset is kept in the query's checkpoint: ``{"completed": ms, "failed": ms, "queue": ..., "counts": {...}, "recent":
{...}, "rows": {...}}``. ``counts`` is how many jobs of each state had finished up to then. If there are more of them
later, some were finished by a clock that is slower than `lagMs` allows, and this stream has passed them by. ``recent``
is how many finished in the last second before it, in the 10 s before that, and so on: jobs that are removed because
they are old hide no late ones there. ``rows`` is how many jobs there are from the offset before to this one: fewer of
them later are jobs that were removed before they were read. ``queue`` tells the checkpoint of another queue.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Final

import orjson

from bullrush.arrow import Window
from bullrush.errors import InvalidOptionError
from bullrush.extending import FINISHED
from bullrush.spark.address import Address
from bullrush.spark.source.messages import DataSourceError
from bullrush.spark.source.options import StreamOptions
from bullrush.spark.source.stream.finished_jobs import FinishedJobs, window_of

Offset = dict[str, Any]

#: ms before an offset, between which late jobs are looked for.
_AGES: Final = (0, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)

_LOST: Final = "Set failOnDataLoss to false to go on without them."


class Offsets:
    """Decides how far a micro-batch goes, and checks that nothing was missed."""

    def __init__(self, options: StreamOptions, jobs: FinishedJobs) -> None:
        self._options = options
        self._jobs = jobs

    def initial(self) -> Offset:
        """Return where a new query begins.

        Raises:
            InvalidOptionError: ``startingOffsets`` cannot be read.
        """
        settled = self._jobs.now() - self._options.lag_ms
        given = self._options.starting_offsets.strip()
        if given.lower() in {"earliest", "latest"}:
            begin = 0 if given.lower() == "earliest" else settled
            return self._offset(dict.fromkeys(self._options.states, begin), settled)
        return self._offset(_positions(given, self._options.states), settled)

    def settled(self) -> int:
        """Return up to which moment no more jobs are expected."""
        return self._jobs.now() - self._options.lag_ms

    def all(self, until: int) -> Offset:
        """Return the end of a micro-batch that begins at an unknown place."""
        return self._offset(dict.fromkeys(self._options.states, until), until)

    def next(self, start: Offset, until: int, limit: int | None) -> Offset:
        """Return the end of a micro-batch that begins at ``start``, ``start`` itself if there is nothing to read.

        Args:
            start: the end of the micro-batch before.
            until: at most up to this moment, in ms.
            limit: at most so many jobs, but no part of a millisecond.

        Raises:
            DataSourceError: jobs appeared before ``start``.
        """
        positions = self._read(start)
        first = self._jobs.first_after(positions)
        if first is None or first > until:
            self._check_no_late_jobs(start)
            return start
        if limit is not None:
            until = self._jobs.cut(positions, until, limit)
        end = {state: max(after, until) for state, after in positions.items()}
        # The check comes after the count: a job that arrives between them is found by this check, or by the next one.
        offset = self._offset(end, until)
        offset["rows"] = self._rows(positions, end)
        self._check_no_late_jobs(start)
        return offset

    def windows(self, start: Offset, end: Offset) -> list[Window]:
        """Return what to read from one offset to another one.

        Raises:
            DataSourceError: it is not what it was when the offsets were written.
        """
        after, until = self._read(start), self._read(end)
        counts = self._rows(after, until)
        planned = end.get("rows")
        if planned is not None and self._options.fail_on_data_loss and planned != counts:
            raise DataSourceError(
                f"the jobs that finished between {after} and {until} were {planned} and are {counts} now: "
                f"they were removed or retried before they were read, or finished late. {_LOST}"
            )
        return [window_of(state, after[state], until[state], counts[state]) for state in after]

    def _offset(self, positions: Mapping[str, int], settled: int) -> Offset:
        """Return an offset. It has no counts if more jobs are still expected before it."""
        offset: Offset = {**positions, "queue": self._options.address.qualified_name}
        if all(position <= settled for position in positions.values()):
            counts = self._jobs.counts([(state, None, until) for state, until in positions.items()])
            offset["counts"] = dict(zip(positions, counts, strict=True))
            offset["recent"] = {state: self._recent(state, until) for state, until in positions.items()}
        return offset

    def _recent(self, state: str, until: int) -> list[int]:
        """Return how many jobs finished in each of the spans of time before a moment, the latest one first."""
        spans = itertools.pairwise(_AGES)
        return self._jobs.counts([(state, until - longest, until - shortest) for shortest, longest in spans])

    def _rows(self, after: Mapping[str, int], until: Mapping[str, int]) -> dict[str, int]:
        counts = self._jobs.counts([(state, after[state], until[state]) for state in after])
        return dict(zip(after, counts, strict=True))

    def _check_no_late_jobs(self, start: Offset) -> None:
        known: Mapping[str, int] = start.get("counts") or {}
        if not known or not self._options.fail_on_data_loss:
            return
        now = self._jobs.counts([(state, None, start[state]) for state in known])
        recent: Mapping[str, list[int]] = start.get("recent") or {}
        late = {}
        for state, count in zip(known, now, strict=True):
            spans = zip(recent[state], self._recent(state, start[state]), strict=True) if state in recent else ()
            more = max(count - known[state], sum(max(0, after - before) for before, after in spans))
            if more > 0:
                late[state] = more
        if late:
            counts = " and ".join(f"{count} {state}" for state, count in late.items())
            raise DataSourceError(
                f"{counts} jobs have a finish time that this stream has passed already: a worker's clock is more than "
                f"lagMs={self._options.lag_ms} behind. A larger lagMs prevents it. {_LOST}"
            )

    def _read(self, offset: Offset) -> dict[str, int]:
        """Return the positions of an offset.

        Raises:
            DataSourceError: it is of another kind of stream, or of another queue.
        """
        check_queue(offset, self._options.address)
        found = {state: offset[state] for state in self._options.states if isinstance(offset.get(state), int)}
        if len(found) < len(self._options.states) or any(state in offset for state in FINISHED if state not in found):
            raise DataSourceError(
                f"the checkpoint has the offset {offset}, which is not one of source='finished' with states="
                f"'{','.join(self._options.states)}': a query keeps its source and its states"
            )
        return found


def check_queue(offset: Offset, address: Address) -> None:
    """Check that an offset is one of this queue. An offset without a name passes.

    Raises:
        DataSourceError: it is of another queue.
    """
    if (of := offset.get("queue", address.qualified_name)) != address.qualified_name:
        raise DataSourceError(
            f"the checkpoint is one of the queue {of!r}, and the query reads {address.qualified_name!r}: give each "
            "query a checkpointLocation of its own"
        )


def _positions(given: str, states: tuple[str, ...]) -> dict[str, int]:
    try:
        found = orjson.loads(given)
    except orjson.JSONDecodeError:
        found = None
    good = isinstance(found, dict) and found.keys() == set(states)
    if not good or not all(isinstance(at, int) and not isinstance(at, bool) and at >= 0 for at in found.values()):
        example = orjson.dumps(dict.fromkeys(states, 1_714_566_600_000)).decode()
        raise InvalidOptionError(f"startingOffsets must be earliest, latest or such as {example}, not {given!r}")
    return {state: found[state] for state in states}
