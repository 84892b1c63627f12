"""Follows the event streams of queues and writes a history of what happened."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bullrush._core import CoreRecorder, SeenEvents
from bullrush.errors import BullrushError
from bullrush.masks import Masks
from bullrush.queue import queue_names
from bullrush.recorder.file import SMALLEST, FileLock, Room, open_to_write, size_of
from bullrush.recorder.writing import Writer
from bullrush.url import check_url, resolve
from bullrush.values import checks
from bullrush.values.naming import check_queue_name

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

#: Bytes that the file of a history has at most.
MOST_BYTES: Final = 256 << 20
#: More events than this are not written for long: the machine is left to other programs.
EVENTS_PER_SECOND: Final = 20_000
_CLIENT_NAME: Final = "bullrush:recorder"
#: Seconds between two looks for new queues: a SCAN over the whole database.
_LOOK_EVERY: Final = 60.0
_WAIT_MS: Final = 500

_logger = logging.getLogger("bullrush")


@dataclass(frozen=True)
class RecorderProgress:
    """What a recorder has done until now.

    Attributes:
        events: how many events of jobs it has seen.
        kept: how many of them it has written; the others are of jobs outside the sample.
        gaps: how often events may be missing.
        bytes: how large the file is, its log included.
    """

    events: int = 0
    kept: int = 0
    gaps: int = 0
    bytes: int = 0


class Recorder:
    """Writes what happens to the jobs of queues into a file, for `History`. It changes nothing in Redis.

    Times of attempts are nowhere but in the event stream of a queue, of which Redis keeps about 10,000 entries. A
    recorder reads them as they come. What it has not seen is marked in the file as a gap.

    Example:
        ```python
        with Recorder("history.db") as recorder:
            recorder.run()
        ```
    """

    def __init__(
        self,
        file: str | Path,
        url: str | None = None,
        *,
        prefix: str = "bull",
        queues: Sequence[str] | None = None,
        max_bytes: int = MOST_BYTES,
        mask: Sequence[str] = (),
        mask_text: Sequence[str] = (),
        events_per_second: int = EVENTS_PER_SECOND,
    ) -> None:
        """Open the file. One process can record into it at a time.

        Args:
            file: the path of the history; it is made if it does not exist, readable only for its user.
            url: the URL of Redis; see `QueueOptions`.
            prefix: the prefix of all keys.
            queues: the queues to record; None is all queues of the prefix, also those that come later.
            max_bytes: how large the file may grow: successes leave first, failures last.
            mask: names of fields; what follows one in a reason or the name of a job, as in ``password=...``, is written
                as ``***``.
            mask_text: regular expressions; what they match in reasons and names of jobs is written as ``***``.
            events_per_second: how many events are written at most for long; above that it keeps some of the jobs.

        Raises:
            InvalidOptionError: an option is wrong, the file is none of a history, or another process writes it.
        """
        self._path = Path(file)
        self._url = resolve(check_url("url", url))
        self._prefix = prefix
        self._queues = None if queues is None else [check_queue_name(name) for name in queues]
        most = checks.at_least(SMALLEST)("max_bytes", max_bytes)
        rate = checks.at_least(1)("events_per_second", events_per_second)
        masks = Masks(mask, mask_text)
        self._lock = FileLock(self._path)
        try:
            self._database = open_to_write(self._path, most)
            self._writer = Writer(self._database, prefix, masks)
        except BaseException:
            self._lock.release()
            raise
        self._room = Room(self._database, most)
        self._rate = rate
        self._core: CoreRecorder | None = None
        self._followed: set[str] = set()
        self._progress = RecorderProgress()
        self._stopped = threading.Event()
        self._running = threading.Lock()
        self._is_open = True

    def run(self) -> None:
        """Record until `stop` or `close`.

        Redis may be away for a while: recording goes on when it is back. Reading never waits for the file, until some
        hundred thousand events are unwritten. What has been read when it ends is still written.

        Raises:
            sqlite3.Error: the file cannot be written, since the disk is full.

        Redis:
            Each 25 ms (from 200 queues on each 100 ms) one write with an XREAD and an XRANGE of one entry for each
            queue to which events come; oftener for streams that are cut short, and at once while there is more. Each
            25 ms (from 500 queues on each 250 ms) an XREAD of one entry for idle queues. Once a minute a SCAN for new
            queues, unless they are named.
        """
        with self._running:
            # Reading begins where writing ended: what an earlier run has read and not written is read again.
            core = CoreRecorder(self._url, self._prefix, client_name=_CLIENT_NAME, events_per_second=self._rate)
            self._core = core
            self._followed.clear()
            looked = -_LOOK_EVERY
            try:
                if self._stopped.is_set():
                    core.close()
                while True:
                    if not self._stopped.is_set() and time.monotonic() - looked >= _LOOK_EVERY:
                        looked = time.monotonic()
                        self._look(core)
                    read = core.next(_WAIT_MS).wait()
                    if read is None:
                        break
                    self._take(*read)
            finally:
                core.close()

    def _look(self, core: CoreRecorder) -> None:
        """Follow the queues that there are now."""
        try:
            names = self._queues if self._queues is not None else list(queue_names(self._url, self._prefix))
        except BullrushError as error:
            _logger.warning("recorder: cannot look for queues: %s", error)
            return
        # A queue that was obliterated may come back, and its stream with it.
        if set(names) <= self._followed:
            return
        self._followed.update(names)
        core.follow(self._writer.positions(sorted(self._followed)))

    def _take(self, batch: Sequence[SeenEvents], until: int | None) -> None:
        for seen in batch:
            if seen.error is not None:
                about = f"the queue {seen.queue!r}" if seen.queue else "Redis"
                _logger.warning("recorder: cannot read %s: %s", about, seen.error)
        self._writer.write(batch, until)
        self._room.make()
        self._progress = RecorderProgress(
            events=self._progress.events + sum(sum(counts) for seen in batch for _, counts in seen.minutes),
            kept=self._progress.kept + sum(len(seen.events) for seen in batch),
            gaps=self._progress.gaps + sum(seen.gap is not None for seen in batch),
        )

    def progress(self) -> RecorderProgress:
        """Return what it has done until now."""
        return replace(self._progress, bytes=size_of(self._path))

    def stop(self) -> None:
        """End `run`, from another thread or a signal handler. It does not wait until the rest is written."""
        self._stopped.set()
        if self._core is not None:
            self._core.close()

    def close(self) -> None:
        """End `run`, wait for it, and free the file for another process."""
        self.stop()
        with self._running:
            if self._is_open:
                self._is_open = False
                self._database.close()
                self._lock.release()

    def __enter__(self) -> Self:
        """Return the recorder."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
