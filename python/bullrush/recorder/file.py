"""The file of a history: a bounded SQLite database for the user alone, which one process writes."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from pathlib import Path
from typing import Final

from bullrush.errors import InvalidOptionError

#: The least that a file may be bounded to: a few batches have to fit in.
SMALLEST: Final = 4 << 20
_VERSION: Final = 1
_PRIVATE: Final = 0o600
_PAGE_BYTES: Final = 4_096
#: How long a statement waits for another one.
_BUSY_SECONDS: Final = 10.0

#: Which attempts leave first when the file is full.
SUCCESS, OTHER, FAILURE = 0, 1, 2

_SCHEMA: Final = """
CREATE TABLE queues (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, position TEXT, since INTEGER NOT NULL, share INTEGER NOT NULL
);
CREATE TABLE attempts (
  id INTEGER PRIMARY KEY, queue INTEGER NOT NULL, job TEXT NOT NULL, name TEXT, number INTEGER, before TEXT,
  queued INTEGER, ready INTEGER, claimed INTEGER, ended INTEGER, outcome TEXT, fingerprint TEXT, keep INTEGER NOT NULL
);
CREATE INDEX attempts_of_a_job ON attempts (queue, job);
CREATE INDEX attempts_by_keep ON attempts (keep);
CREATE INDEX attempts_by_reason ON attempts (fingerprint) WHERE fingerprint IS NOT NULL;
CREATE TABLE reasons (fingerprint TEXT PRIMARY KEY, label TEXT NOT NULL, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE gaps (queue INTEGER NOT NULL, after INTEGER NOT NULL, until INTEGER NOT NULL);
CREATE INDEX gaps_of_a_queue ON gaps (queue, after);
CREATE TABLE samples (queue INTEGER NOT NULL, since INTEGER NOT NULL, share INTEGER NOT NULL);
CREATE INDEX samples_of_a_queue ON samples (queue, since);
CREATE TABLE minutes (
  queue INTEGER NOT NULL, minute INTEGER NOT NULL, kind TEXT NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (queue, minute, kind)
) WITHOUT ROWID;
CREATE TABLE source (prefix TEXT NOT NULL, until INTEGER NOT NULL);
CREATE TABLE forgotten (keep INTEGER PRIMARY KEY, until INTEGER NOT NULL, rows INTEGER NOT NULL);
"""


def size_of(path: Path) -> int:
    """Return the bytes of a history, its log included."""
    return sum(part.stat().st_size for part in (path, path.with_name(f"{path.name}-wal")) if part.exists())


class FileLock:
    """The right to write a history: one process has it, and the kernel takes it back when that ends."""

    def __init__(self, path: Path) -> None:
        """Take the lock.

        Raises:
            InvalidOptionError: another process has it, or it cannot be made.
        """
        # A lock of its own: SQLite loses its locks when a process closes another descriptor of the database.
        self._descriptor = _open(path.with_name(f"{path.name}.lock"))
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise InvalidOptionError(f"another process records into {path}: one is enough, and all can read") from None

    def release(self) -> None:
        """Give it back. The file of the lock stays, since another process may be waiting with it open."""
        os.close(self._descriptor)


def open_to_write(path: Path, most: int) -> sqlite3.Connection:
    """Open or make a file that grows to at most this many bytes, its log included.

    Raises:
        InvalidOptionError: it is no history, or one of another version.
    """
    descriptor = _open(path)
    os.fchmod(descriptor, _PRIVATE)
    os.close(descriptor)
    # The recorder may be closed on another thread than the one that it ran on.
    database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        version = _version(database, path)
        if version == 0:
            database.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute(f"PRAGMA wal_autocheckpoint = {max(most // 16 // _PAGE_BYTES, 16)}")
        database.execute(f"PRAGMA journal_size_limit = {most // 16}")
        if version == 0:
            database.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
        Room(database, most).fit()
    except BaseException:
        database.close()
        raise
    return database


def _open(path: Path) -> int:
    """Return a descriptor of a file for its user alone, which is made if it does not exist."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE)
    except OSError as error:
        raise InvalidOptionError(f"{path} cannot be written: {error.strerror}") from None


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open a file that exists. It never writes.

    Raises:
        InvalidOptionError: there is no history.
    """
    if not path.is_file():
        raise InvalidOptionError(f"there is no history {path}: 'bullrush record --file {path}' writes one")
    try:
        database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        if _version(database, path) == 0:
            database.close()
            raise InvalidOptionError(f"{path} is no history of bullrush")
        database.execute("PRAGMA query_only = ON")
    except sqlite3.OperationalError as error:
        raise InvalidOptionError(f"the history {path} cannot be read: {error}") from None
    return database


def _version(database: sqlite3.Connection, path: Path) -> int:
    """Return the version of the schema; 0 for an empty file."""
    try:
        [version] = database.execute("PRAGMA user_version").fetchone()
        [tables] = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise InvalidOptionError(f"{path} is no history of bullrush") from None
    if (version == 0 and tables > 0) or version not in (0, _VERSION):
        raise InvalidOptionError(f"{path} is no history of this version of bullrush")
    return int(version)


def _main(most: int) -> int:
    """Return how large the database may be without its log."""
    return most * 3 // 4


class Room:
    """Keeps a file within its bound: successes leave first, failures last."""

    #: How full it may be before something leaves, and how full it is then.
    _FULL: Final = 0.85
    _ENOUGH: Final = 0.75
    _AT_ONCE: Final = 2_000

    def __init__(self, database: sqlite3.Connection, most: int) -> None:
        """Take the file and its bound in bytes."""
        self._database = database
        self._pages = _main(most) // _PAGE_BYTES

    def fit(self) -> None:
        """Make a file smaller that had a larger bound, and set its bound."""
        self.make()
        [pages] = self._database.execute("PRAGMA page_count").fetchone()
        if pages > self._pages:
            self._database.execute("VACUUM")
        self._database.execute(f"PRAGMA max_page_count = {self._pages}")

    def make(self) -> None:
        """Let attempts leave until there is room."""
        if self._used() < self._FULL:
            return
        for keep in (SUCCESS, OTHER, FAILURE):
            while self._used() > self._ENOUGH and self._drop(keep):
                pass
        while self._used() > self._ENOUGH and self._drop_minutes():
            pass

    def _used(self) -> float:
        [pages] = self._database.execute("PRAGMA page_count").fetchone()
        [free] = self._database.execute("PRAGMA freelist_count").fetchone()
        return float(pages - free) / self._pages

    def _drop(self, keep: int) -> bool:
        """Remove the oldest attempts of a kind; False if there were none."""
        oldest = "SELECT id FROM attempts WHERE keep = ? ORDER BY id LIMIT ?"
        times = "max(coalesce(ended, claimed, ready, queued, 0))"
        self._database.execute("BEGIN IMMEDIATE")
        [until, rows] = self._database.execute(
            f"SELECT {times}, count(*) FROM attempts WHERE id IN ({oldest})", (keep, self._AT_ONCE)
        ).fetchone()
        if rows:
            self._database.execute(f"DELETE FROM attempts WHERE id IN ({oldest})", (keep, self._AT_ONCE))
            self._database.execute(
                "INSERT INTO forgotten VALUES (?1, ?2, ?3) "
                "ON CONFLICT (keep) DO UPDATE SET until = max(until, ?2), rows = rows + ?3",
                (keep, until, rows),
            )
        if keep == FAILURE:
            self._database.execute(
                "DELETE FROM reasons WHERE NOT EXISTS "
                "(SELECT 1 FROM attempts WHERE attempts.fingerprint = reasons.fingerprint)"
            )
        self._database.execute("COMMIT")
        return bool(rows)

    def _drop_minutes(self) -> bool:
        """Remove the oldest counts; False if there were none."""
        dropped = self._database.execute(
            "DELETE FROM minutes WHERE minute <= (SELECT min(minute) + (max(minute) - min(minute)) / 8 FROM minutes)"
        )
        return dropped.rowcount > 0
