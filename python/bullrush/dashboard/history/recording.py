"""The recorder of a dashboard: it writes the history that the pages show, unless another process does so."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import threading
from collections.abc import Sequence
from hashlib import blake2s
from pathlib import Path
from typing import Final

from bullrush.errors import BullrushError, InvalidOptionError
from bullrush.recorder import Recorder
from bullrush.url import address, database

#: Seconds until it tries again: another process may have ended, or a disk may have room again.
_TRY_EVERY: Final = 20.0
#: Seconds that the end of the dashboard waits for it. What it has not written is read again by the next one.
_PATIENCE: Final = 5.0
#: Fields of data are masked by their names, of which events know nothing. So no text of them is written.
_ALL: Final = r"(?s).+"

_logger = logging.getLogger("bullrush")


class Recording:
    """Records on a thread while the dashboard runs. One process records into a file; the others read it."""

    def __init__(
        self,
        file: Path,
        url: str,
        prefix: str,
        *,
        without_texts: bool,
        mask_text: Sequence[str] = (),
        try_every: float = _TRY_EVERY,
    ) -> None:
        """Take where to write and what to record.

        Args:
            file: the file of the history. Its folder is made if there is none, for its user alone.
            url: the URL of Redis.
            prefix: the prefix of the queues.
            without_texts: names of jobs and reasons are not written.
            mask_text: see `Recorder`.
            try_every: seconds until it tries again to record.
        """
        self.file = file
        #: Why it does not record now; None if it does.
        self.obstacle: str | None = None
        self._options = (url, prefix, (_ALL,) if without_texts else mask_text)
        self._try_every = try_every
        self._ended = threading.Event()
        self._recorder = self._open()
        self._thread = threading.Thread(target=self._run, name="bullrush-recorder", daemon=True)

    def start(self) -> None:
        """Begin to record."""
        self._thread.start()

    def stop(self) -> None:
        """End recording, and free the file for another process."""
        self._ended.set()
        if self._recorder is not None:
            self._recorder.stop()
        self._thread.join(_PATIENCE)

    def _open(self) -> Recorder | None:
        url, prefix, mask_text = self._options
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            recorder = Recorder(self.file, url, prefix=prefix, mask_text=mask_text)
        except (InvalidOptionError, sqlite3.Error, OSError) as error:
            self.obstacle = f"{error}"
            return None
        self.obstacle = None
        return recorder

    def _run(self) -> None:
        while not self._ended.is_set():
            if self._recorder is not None:
                self._record(self._recorder)
            if not self._ended.wait(self._try_every):
                self._recorder = self._open()
        if self._recorder is not None:
            self._recorder.close()

    def _record(self, recorder: Recorder) -> None:
        try:
            recorder.run()
        except (sqlite3.Error, BullrushError) as error:
            said = f"{self.file} cannot be written: {error}" if isinstance(error, sqlite3.Error) else f"{error}"
            self.obstacle = said
            _logger.warning("recorder: %s", said)
        finally:
            recorder.close()
            self._recorder = None


def usual_file(url: str, prefix: str) -> Path:
    """Return where the history of a server is if nobody has said it: in the user's folder for what programs keep."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    place = f"{address(url)}/{database(url)}/{prefix}"
    name = re.sub(r"\W+", "-", place).strip("-")[:60]
    # Other characters may make the same name.
    return Path(home) / "bullrush" / f"history-{name}-{blake2s(place.encode(), digest_size=4).hexdigest()}.db"
