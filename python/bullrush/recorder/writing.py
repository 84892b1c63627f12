"""Writes what was read of the streams into a history."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from bullrush._core import RECORDED_EVENTS, SeenEvents
from bullrush.errors import InvalidOptionError
from bullrush.inspection import fingerprint
from bullrush.recorder.attempts import Attempt, Attempts, JobEvent
from bullrush.recorder.file import FAILURE, OTHER, SUCCESS
from bullrush.recorder.masks import Masks

_COLUMNS: Final = (
    "name", "number", "before", "queued", "ready", "claimed", "ended", "outcome", "fingerprint",
)  # fmt: skip
_values: Final = attrgetter(*_COLUMNS)
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
        self._masks = masks
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
        [queue, share] = self._database.execute("SELECT id, share FROM queues WHERE name = ?", [seen.queue]).fetchone()
        self._database.execute(
            "UPDATE queues SET position = ?, since = min(since, coalesce(?, since)), share = ? WHERE id = ?",
            (seen.position, seen.since, seen.share, queue),
        )
        if seen.gap is not None:
            self._database.execute("INSERT INTO gaps VALUES (?, ?, ?)", (queue, *seen.gap))
        if seen.share != share:
            # It is known of the events behind these.
            at = seen.events[-1][2] if seen.events else int(seen.position.partition("-")[0])
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
        for kind, job_id, at, text in seen.events:
            by_job.setdefault(job_id, []).append(JobEvent(kind, job_id, at, text))
        new: list[tuple[object, ...]] = []
        changed: list[tuple[object, ...]] = []
        for job_id, events in by_job.items():
            # A job that is added now has no attempt before.
            last = [] if events[0].kind == "added" else self._last(queue, seen.queue, job_id)
            attempts = Attempts(seen.queue, job_id, [attempt for _, _, attempt in last])
            for event in events:
                attempts.take(event, self._reason(event))
            by_end = _KEEP.get(attempts.end or "", OTHER)
            for place, attempt in enumerate(attempts.known):
                if attempt.name is not None:
                    attempt.name = self._masks.hide(attempt.name)
                before = last[place][1] if place < len(last) else OTHER
                # Earlier attempts of a job stay as long as its end.
                keep = _KEEP.get(attempt.outcome or "", by_end if before == OTHER else before)
                if place < len(last):
                    changed.append((*_values(attempt), keep, last[place][0]))
                else:
                    new.append((queue, job_id, *_values(attempt), keep))
            if last and attempts.end:
                self._database.execute(
                    "UPDATE attempts SET keep = ? WHERE queue = ? AND job = ? AND keep = ?",
                    (by_end, queue, job_id, OTHER),
                )
        marks = ", ".join(f"{column} = ?" for column in (*_COLUMNS, "keep"))
        self._database.executemany(f"UPDATE attempts SET {marks} WHERE id = ?", changed)
        self._database.executemany(
            f"INSERT INTO attempts (queue, job, {', '.join(_COLUMNS)}, keep) VALUES (?, ?, {'?, ' * len(_COLUMNS)} ?)",
            new,
        )

    def _last(self, queue: int, name: str, job_id: str) -> list[tuple[int, int, Attempt]]:
        """Return the last two attempts of a job, each behind its id and how long it is kept."""
        rows = self._database.execute(
            f"SELECT id, keep, {', '.join(_COLUMNS)} FROM attempts "
            "WHERE queue = ? AND job = ? ORDER BY id DESC LIMIT 2",
            (queue, job_id),
        ).fetchall()
        return [(row[0], row[1], Attempt(name, job_id, *row[2:])) for row in reversed(rows)]

    def _reason(self, event: JobEvent) -> str | None:
        """Return the fingerprint of a reason, and store the reason if it is a new one."""
        if event.kind != "failed":
            return None
        text = self._masks.hide(event.text or "")
        found = fingerprint(text, "")
        self._database.execute("INSERT OR IGNORE INTO reasons VALUES (?, ?, ?)", (found.id, found.label, text))
        return found.id
