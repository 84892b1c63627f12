"""Reads what a recorder has written: attempts of jobs, jobs that are gone, and counts per minute."""

from __future__ import annotations

import time
from array import array
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bullrush._core import in_sample
from bullrush.recorder.attempts import OUTCOMES, Attempt, Outcome
from bullrush.recorder.file import FAILURE, SUCCESS, open_to_read
from bullrush.recorder.waterfall import Bar, waterfall
from bullrush.values import checks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from typing_extensions import Self

_MINUTE_MS: Final = 60_000
_MOST_JOBS: Final = 100
_SLOWEST: Final = 10
#: So many of the last attempts are looked at for the slowest ones.
_LOOKED_AT: Final = 500_000
#: A recorder says more often than this until when it has seen everything.
_SILENCE_MS: Final = 5_000
#: A time that never comes.
_FOREVER: Final = 1 << 62
_KEEP: Final = {"completed": SUCCESS, "failed": FAILURE}
#: The fields of `MinuteCounts`, by the kinds of events.
_COUNTED: Final = {
    "added": "added",
    "started": "active",
    "completed": "completed",
    "failed": "failed",
    "stalled": "stalled",
    "removed": "removed",
}
_COLUMNS: Final = "job, name, number, before, queued, ready, claimed, ended, outcome, fingerprint"


@dataclass
class RememberedJob:
    """A job of a history: what its last attempt was. Times are in ms since 1970.

    Attributes:
        queue: the name of the queue.
        job_id: the job.
        name: its name; None if its beginning was not seen.
        number: of its last attempt; None if that is not known.
        at: when it ended, or when something was last heard of it.
        outcome: how it ended; None if it goes on, or if its end was not seen.
        fingerprint: of the reason, if it failed.
        reason: why it failed: the text of the first failure with this fingerprint.
    """

    queue: str
    job_id: str
    name: str | None
    number: int | None
    at: int
    outcome: Outcome | None
    fingerprint: str | None
    reason: str | None


class SlowAttempt(NamedTuple):
    """How long an attempt took.

    Attributes:
        took: ms from when a worker claimed the job until the attempt ended.
        job_id: the job.
        number: of the attempt; None if that is not known.
        ended: when it ended, in ms since 1970.
        outcome: how it ended.
    """

    took: int
    job_id: str
    number: int | None
    ended: int
    outcome: Outcome


@dataclass
class SlowName:
    """How long the attempts of jobs with one name took, in ms.

    Attributes:
        name: the name; None for jobs whose beginning was not seen.
        count: how many attempts there are.
        p50: half of them took no longer.
        p95: 95 of 100 took no longer.
        slowest: those that took longest, the slowest first.
    """

    name: str | None
    count: int
    p50: int
    p95: int
    slowest: list[SlowAttempt]


@dataclass
class MinuteCounts:
    """How many events there were in a minute, of all jobs.

    Attributes:
        begin: when the minute began, in ms since 1970.
        added: jobs that were added.
        started: attempts that were claimed by a worker.
        completed: jobs that were completed.
        failed: jobs that failed for good.
        stalled: attempts whose worker was lost.
        removed: jobs that were removed.
        complete: whether nothing may be missing.
    """

    begin: int
    added: int
    started: int
    completed: int
    failed: int
    stalled: int
    removed: int
    complete: bool


@dataclass
class Remembered:
    """What a history knows of a queue. Times are in ms since 1970.

    Attributes:
        since: nothing before is known.
        until: nothing behind is known; some seconds ago while a recorder runs.
        successes_since: jobs that were completed before may have left the file, since it was full.
        gaps: between which times events may be missing.
        share: one of how many jobs is kept now; counts are of all.
    """

    since: int
    until: int
    successes_since: int
    gaps: list[tuple[int, int]]
    share: int


class History:
    """Reads the file that a `Recorder` writes, at the same time too. It does not need Redis."""

    def __init__(self, file: str | Path) -> None:
        """Open the file.

        Args:
            file: its path.

        Raises:
            InvalidOptionError: there is no history.
        """
        self._database = open_to_read(Path(file))

    def queues(self) -> list[str]:
        """Return the names of the queues that were recorded."""
        return [name for (name,) in self._database.execute("SELECT name FROM queues ORDER BY name")]

    def remembered(self, queue: str) -> Remembered | None:
        """Return since when a queue is known, and what may be missing; None if it was never recorded.

        Args:
            queue: the name of the queue.
        """
        found = self._database.execute("SELECT id, since, share FROM queues WHERE name = ?", [queue]).fetchone()
        if found is None:
            return None
        number, since, share = found
        left = self._database.execute("SELECT until FROM forgotten WHERE keep = ?", [SUCCESS]).fetchone()
        successes = max(since, left[0] if left else since)
        return Remembered(since, self._until(), successes, self._gaps(number), share)

    def attempts(self, queue: str, job_id: str) -> list[Attempt]:
        """Return the attempts of a job that are remembered, in their order.

        Args:
            queue: the name of the queue.
            job_id: the job.
        """
        rows = self._database.execute(
            f"SELECT {_COLUMNS} FROM attempts WHERE queue = ? AND job = ? ORDER BY id", (self._number(queue), job_id)
        )
        return [Attempt(queue, *row) for row in rows]

    def waterfall(self, queue: str, job_id: str, processed_on: int | None = None) -> list[Bar]:
        """Return the life of a job as bars: when it waited, ran and waited again. What was not seen is a gap.

        Args:
            queue: the name of the queue.
            job_id: the job.
            processed_on: the last start by the job itself (`Job.processed_on`), if it still exists.
        """
        number = self._number(queue)
        gaps = sorted(self._gaps(number) + self._outside_the_sample(number, job_id))
        if not self._is_live():
            gaps.append((self._until(), _FOREVER))
        return waterfall(self.attempts(queue, job_id), gaps, processed_on)

    def find(
        self,
        queue: str,
        *,
        job_id: str | None = None,
        name: str | None = None,
        outcome: Outcome | None = None,
        reason: str | None = None,
        limit: int = _MOST_JOBS,
    ) -> list[RememberedJob]:
        """Return the jobs that match all of these, those whose last attempt began last first.

        They may have been removed meanwhile.

        Args:
            queue: the name of the queue.
            job_id: the job.
            name: the name of the job.
            outcome: how the job ended.
            reason: a fingerprint, or a part of the text why it failed.
            limit: how many jobs at most.

        Raises:
            InvalidOptionError: there is no such outcome, or the limit is not positive.
        """
        if outcome is not None:
            checks.check_choice("outcome", outcome, OUTCOMES)
        wanted: list[tuple[str, list[Any]]] = [("a.queue = ?", [self._number(queue)])]
        for column, value in (("a.job", job_id), ("a.name", name), ("a.outcome", outcome)):
            if value is not None:
                wanted.append((f"{column} = ?", [value]))
        if outcome in _KEEP:
            wanted.append(("a.keep = ?", [_KEEP[outcome]]))  # which has an index
        if reason is not None:
            same = "SELECT fingerprint FROM reasons WHERE fingerprint = ? OR instr(text, ?) > 0"
            wanted.append((f"a.fingerprint IN ({same})", [reason, reason]))
        rows = self._database.execute(
            "SELECT a.job, a.name, a.number, coalesce(a.ended, a.claimed, a.ready, a.queued), a.outcome, "
            "a.fingerprint, reasons.text FROM attempts AS a LEFT JOIN reasons USING (fingerprint) "
            f"WHERE {' AND '.join(text for text, _ in wanted)} AND NOT EXISTS "
            "(SELECT 1 FROM attempts AS b WHERE b.queue = a.queue AND b.job = a.job AND b.id > a.id) "
            "ORDER BY a.id DESC LIMIT ?",
            [*(value for _, values in wanted for value in values), checks.at_least(1)("limit", limit)],
        )
        return [RememberedJob(queue, *row) for row in rows]

    def slowest(self, queue: str, limit: int = _SLOWEST) -> list[SlowName]:
        """Return how long attempts took, by the name of the job, the slowest name first.

        An attempt takes from when a worker claimed it until it ended. Those whose worker was lost do not count, and
        only the last 500,000 attempts of all queues are looked at.

        Args:
            queue: the name of the queue.
            limit: of how many attempts of each name at most the job is named, the slowest first.

        Raises:
            InvalidOptionError: the limit is not positive.
        """
        most = checks.at_least(1)("limit", limit)
        rows = self._database.execute(
            # The plus keeps SQLite from the index of jobs, by which it would read the whole queue.
            "SELECT name, ended - claimed AS took, job, number, ended, outcome FROM attempts WHERE +queue = ? "
            f"AND id > (SELECT max(id) FROM attempts) - {_LOOKED_AT} AND claimed IS NOT NULL AND ended >= claimed "
            "AND outcome IN ('completed', 'failed', 'retried', 'waiting-children') ORDER BY took DESC",
            [self._number(queue)],
        )
        # There may be half a million: only how long each took is kept, and of the slowest ones the rest.
        times: defaultdict[str | None, array[int]] = defaultdict(lambda: array("q"))
        slowest: defaultdict[str | None, list[SlowAttempt]] = defaultdict(list)
        for name, took, *rest in rows:
            times[name].append(took)
            if len(slowest[name]) < most:
                slowest[name].append(SlowAttempt(took, *rest))
        found = [
            SlowName(name, len(took), _share(took, 50), _share(took, 95), slowest[name]) for name, took in times.items()
        ]
        return sorted(found, key=lambda one: (-one.p95, one.name or ""))

    def minutes(self, queue: str, since: int, until: int) -> list[MinuteCounts]:
        """Return the counts of each minute of a time, the first one first.

        Args:
            queue: the name of the queue.
            since: in ms since 1970.
            until: in ms since 1970; the minute of this moment is the last one.
        """
        number = self._number(queue)
        first, last = since // _MINUTE_MS, until // _MINUTE_MS
        counts: dict[tuple[int, str], int] = {
            (minute, kind): count
            for minute, kind, count in self._database.execute(
                "SELECT minute, kind, count FROM minutes WHERE queue = ? AND minute BETWEEN ? AND ?",
                (number, first, last),
            )
        }
        known, gaps = self.remembered(queue), self._gaps(number)
        now, is_live = _now(), self._is_live()
        found = []
        for minute in range(first, last + 1):
            begin, end = minute * _MINUTE_MS, (minute + 1) * _MINUTE_MS
            complete = known is not None and known.since <= begin and (end <= known.until or (end > now and is_live))
            complete = complete and not any(after < end and before > begin for after, before in gaps)
            kinds = {field: counts.get((minute, kind), 0) for field, kind in _COUNTED.items()}
            found.append(MinuteCounts(begin, **kinds, complete=complete))
        return found

    def _number(self, queue: str) -> int:
        """Return the number of a queue in the file; 0 if it has none."""
        found = self._database.execute("SELECT id FROM queues WHERE name = ?", [queue]).fetchone()
        return int(found[0]) if found else 0

    def _until(self) -> int:
        [until] = self._database.execute("SELECT until FROM source").fetchone() or (0,)
        return int(until)

    def _is_live(self) -> bool:
        """Return whether a recorder runs."""
        return _now() - self._until() < _SILENCE_MS

    def _gaps(self, number: int) -> list[tuple[int, int]]:
        return self._database.execute(
            "SELECT after, until FROM gaps WHERE queue = ? ORDER BY after", [number]
        ).fetchall()

    def _outside_the_sample(self, number: int, job_id: str) -> list[tuple[int, int]]:
        """Return when events of this job were dropped, since there were more than could be written."""
        samples = self._database.execute(
            "SELECT since, share FROM samples WHERE queue = ? ORDER BY since, rowid", [number]
        ).fetchall()
        behind = [*samples[1:], (_FOREVER, 1)]
        return [
            (since, end)
            for (since, share), (end, _) in zip(samples, behind[: len(samples)], strict=True)
            if since < end and not in_sample(job_id, share)
        ]

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Self:
        """Return the history."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


def _share(slowest_first: Sequence[int], percent: int) -> int:
    """Return within how many ms so many percent of attempts have ended."""
    return slowest_first[len(slowest_first) * (100 - percent) // 100]


def _now() -> int:
    return int(time.time() * 1_000)
