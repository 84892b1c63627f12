"""Who has changed what: a line per change, in memory and perhaps in a file."""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

#: So many lines are shown, and held in memory if there is no file.
MOST: Final = 1_000
#: So much of the end of a file is read.
_TAIL: Final = 1_000_000

_logger = logging.getLogger("bullrush")


@dataclass(frozen=True)
class Line:
    """A change that somebody has asked for.

    Attributes:
        who: who has asked, as `authenticate` names them.
        source: from which address; that of a proxy if there is one.
        server: the address of Redis.
        prefix: the prefix of the queue.
        queue: the name of the queue.
        what: what was asked for, such as ``retry``.
        job: the job; None if it is about the queue, or about many jobs.
        filter: which jobs were meant, if these were many.
        counts: how many were seen and changed, and how many were not, if these were many.
        outcome: what has come of it, in a sentence.
        done: it was made, if not of all jobs.
        at: when, in ms since 1970.
    """

    who: str
    source: str | None
    server: str
    prefix: str
    queue: str
    what: str
    job: str | None
    filter: Mapping[str, str]
    outcome: str
    done: bool
    counts: Mapping[str, int] = field(default_factory=dict)
    at: int = field(default_factory=lambda: int(time.time() * 1_000))

    def content(self) -> dict[str, Any]:
        """Return what stands in the file and in a page."""
        return asdict(self)


class Audit:
    """The lines of one server and prefix, the newest first. A file keeps all; without one the last are in memory."""

    def __init__(self, file: Path | None, server: str, prefix: str) -> None:
        """Take where to write.

        Args:
            file: the file; its lines are JSON, and it is for its user alone. None: there is none.
            server: the address of Redis.
            prefix: the prefix of the queues.
        """
        self.file = file
        #: Why the last line was not written; None if it was.
        self.trouble: str | None = None
        self.server: str = server
        self.prefix: str = prefix
        self._last: deque[dict[str, Any]] = deque(maxlen=MOST)

    def note(self, line: Line) -> None:
        """Add a line. A file that cannot be written does not undo what was done."""
        content = line.content()
        self._last.appendleft(content)
        if self.file is None:
            return
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(self.file, "ab", opener=_for_its_user) as file:
                file.write(orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE))
            self.trouble = None
        except OSError as error:
            self.trouble = f"{error}"
            _logger.warning("audit: %s cannot be written: %s", self.file, error)

    def lines(self) -> list[dict[str, Any]]:
        """Return the last lines."""
        if self.file is None or self.trouble is not None:
            return list(self._last)
        here = (self.server, self.prefix)
        found = [line for line in self._read() if (line.get("server"), line.get("prefix")) == here]
        return found[::-1][:MOST]

    def _read(self) -> Iterator[dict[str, Any]]:
        assert self.file is not None
        try:
            with self.file.open("rb") as file:
                file.seek(max(0, self.file.stat().st_size - _TAIL))
                texts = file.read().split(b"\n")
        except OSError:
            return  # nobody has changed anything yet
        for text in texts:
            try:
                line = orjson.loads(text)
            except ValueError:
                continue  # the end of a line of which the beginning was left out, or what another program wrote
            if isinstance(line, dict) and line.keys() >= Line.__dataclass_fields__.keys():
                yield line


def _for_its_user(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
