"""Writes what was read of the streams into a history."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Final

from bullrush._core import RECORDED_EVENTS, SeenEvents
from bullrush.errors import InvalidOptionError
from bullrush.inspection import fingerprint
from bullrush.masks import Masks
from bullrush.recorder.attempts import Attempt, Attempts, JobEvent
from bullrush.recorder.file import FAILURE, OTHER, SUCCESS

_COLUMNS: Final = (
    "name", "number", "before", "queued", "ready", "claimed", "ended", "outcome", "fingerprint",
)  # fmt: skip
_values: Final = attrgetter(*_COLUMNS)
_CHANGE: Final = f"UPDATE attempts SET {', '.join(f'{column} = ?' for column in (*_COLUMNS, 'keep'))} WHERE id = ?"
_ADD: Final = f"INSERT INTO attempts (queue, job, {', '.join(_COLUMNS)}, keep) VALUES (?, ?, {'?, ' * len(_COLUMNS)} ?)"
#: So many jobs are looked up at once, by one statement that SQLite compiles once.
_JOBS: Final = 250
_LAST_TWO: Final = (
    f"WITH wanted (job) AS (VALUES {', '.join(['(?)'] * _JOBS)}) "
    f"SELECT a.id, a.keep, a.job, {', '.join(f'a.{column}' for column in _COLUMNS)} "
    "FROM wanted JOIN attempts AS a ON a.id IN "
    "(SELECT b.id FROM attempts AS b WHERE b.queue = ? AND b.job = wanted.job ORDER BY b.id DESC LIMIT 2) "
    "ORDER BY a.id"
)
#: Jobs have few names, each of which is looked at once.
_NAMES: Final = 1_000
_KEEP: Final = {"completed": SUCCESS, "failed": FAILURE}
#: In ms. Also without events it is written until when everything was seen.
_NOTE_EVERY: Final = 1_000


class Writer:
    """Writes batches, each in one transaction with the positions that it leads to: nothing is written twice."""

    def __init__(self, database: sqlite3.Connection, prefix: str, masks: Masks) -> None:
        """Take the file, the prefix of its queues, and what is hidden in texts.

        Raises:
            InvalidOptionError: the file has queues of another prefix.
        """
        self._database = database
        self._hide = masks.hide
        self._hide_in_name = lru_cache(_NAMES)(masks.hide)
        self._until = 0
        found = database.execute("SELECT prefix FROM source").fetchone()
        if found is None:
            database.execute("INSERT INTO source VALUES (?, 0)", [prefix])
        elif found[0] != prefix:
            raise InvalidOptionError(f"the history has queues of the prefix {found[0]!r}, not of {prefix!r}")

    def positions(self, names: Iterable[str]) -> list[tuple[str, str | None]]:
        """Return for each queue from where to read on; None is the beginning. New ones are remembered from now on."""
        now = int(time.time() * 1_000)
        self._database.execute("BEGIN IMMEDIATE")
        self._database.executemany(
            "INSERT OR IGNORE INTO queues (name, since, share) VALUES (?, ?, 1)", ((name, now) for name in names)
        )
        known = dict(self._database.execute("SELECT name, position FROM queues"))
        self._database.execute("COMMIT")
        return [(name, known[name]) for name in names]

    def write(self, batch: Sequence[SeenEvents], until: int | None) -> None:
        """Write what was read.

        Args:
            batch: what was read of each queue.
            until: before this time everything was seen.

        Raises:
            sqlite3.Error: it could not be written. Then nothing of it is.
        """
        read = [seen for seen in batch if seen.error is None]
        if not read and (until is None or until < self._until + _NOTE_EVERY):
            return
        self._database.execute("BEGIN IMMEDIATE")
        try:
            for seen in read:
                self._write_queue(seen)
            if until is not None:
                self._database.execute("UPDATE source SET until = ?", [until])
            self._database.execute("COMMIT")
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._until = until or self._until

    def _write_queue(self, seen: SeenEvents) -> None:
        [queue, share, position] = self._database.execute(
            "SELECT id, share, position FROM queues WHERE name = ?", [seen.queue]
        ).fetchone()
        self._database.execute(
            "UPDATE queues SET position = ?, since = min(since, coalesce(?, since)), share = ? WHERE id = ?",
            (seen.position, seen.since, seen.share, queue),
        )
        if seen.gap is not None:
            self._database.execute("INSERT INTO gaps VALUES (?, ?, ?)", (queue, *seen.gap))
        if seen.share != share:
            # Jobs outside the sample are missing from where the read began.
            at = int((position or seen.position).partition("-")[0])
            self._database.execute("INSERT INTO samples VALUES (?, ?, ?)", (queue, at, seen.share))
        self._database.executemany(
            "INSERT INTO minutes VALUES (?, ?, ?, ?) "
            "ON CONFLICT (queue, minute, kind) DO UPDATE SET count = count + excluded.count",
            (
                (queue, minute, kind, count)
                for minute, counts in seen.minutes
                for kind, count in zip(RECORDED_EVENTS, counts, strict=True)
                if count
            ),
        )
        self._write_events(queue, seen)

    def _write_events(self, queue: int, seen: SeenEvents) -> None:
        by_job: dict[str, list[JobEvent]] = {}
        for event in map(JobEvent._make, seen.events):
            by_job.setdefault(event.job_id, []).append(event)
        reasons = self._reasons(seen)
        # A job that is added now has no attempt before.
        known = self._last_two(queue, seen.queue, [job for job, events in by_job.items() if events[0].kind != "added"])
        new: list[tuple[object, ...]] = []
        changed: list[tuple[object, ...]] = []
        ended: list[tuple[int, int, str, int]] = []
        for job_id, events in by_job.items():
            last = known.get(job_id, [])
            attempts = Attempts(seen.queue, job_id, [attempt for _, _, attempt in last])
            for event in events:
                attempts.take(event, reasons.get(event.text or "") if event.kind == "failed" else None)
            by_end = _KEEP.get(attempts.end or "", OTHER)
            for place, attempt in enumerate(attempts.known):
                if attempt.name is not None:
                    attempt.name = self._hide_in_name(attempt.name)
                before = last[place][1] if place < len(last) else OTHER
                # Earlier attempts of a job stay as long as its end.
                keep = _KEEP.get(attempt.outcome or "", by_end if before == OTHER else before)
                if place < len(last):
                    changed.append((*_values(attempt), keep, last[place][0]))
                else:
                    new.append((queue, job_id, *_values(attempt), keep))
            if attempts.end and len(last) > 1:
                ended.append((by_end, queue, job_id, OTHER))
        # Before the others are changed, since those before the last two are meant.
        self._database.executemany("UPDATE attempts SET keep = ? WHERE queue = ? AND job = ? AND keep = ?", ended)
        self._database.executemany(_CHANGE, changed)
        self._database.executemany(_ADD, new)

    def _last_two(
        self, queue: int, name: str, job_ids: Sequence[str]
    ) -> Mapping[str, Sequence[tuple[int, int, Attempt]]]:
        """Return the last two attempts of jobs, each behind its id and how long it is kept."""
        found: dict[str, list[tuple[int, int, Attempt]]] = {}
        for begin in range(0, len(job_ids), _JOBS):
            asked = job_ids[begin : begin + _JOBS]
            rows = self._database.execute(_LAST_TWO, (*asked, *[None] * (_JOBS - len(asked)), queue))
            for id, keep, job_id, *values in rows:
                found.setdefault(job_id, []).append((id, keep, Attempt(name, job_id, *values)))
        return found

    def _reasons(self, seen: SeenEvents) -> Mapping[str, str]:
        """Return the fingerprints of the reasons, and store new ones."""
        hidden = {text or "": self._hide(text or "") for kind, _, _, text in seen.events if kind == "failed"}
        found = {text: fingerprint(shown, "") for text, shown in hidden.items()}
        self._database.executemany(
            "INSERT OR IGNORE INTO reasons VALUES (?, ?, ?)",
            [(found[text].id, found[text].label, shown) for text, shown in hidden.items()],
        )
        return {text: one.id for text, one in found.items()}
