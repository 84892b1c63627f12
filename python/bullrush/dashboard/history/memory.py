"""Reads a history for the pages, on a thread of its own, since a disk may be slow."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from bullrush.dashboard.history.rates import Minutes, Rates
from bullrush.errors import InvalidOptionError
from bullrush.recorder import History

T = TypeVar("T")


class Memory:
    """The history of the queues that a dashboard shows. A recorder may make its file later, or a new one."""

    def __init__(self, file: Path) -> None:
        """Take the path of the file."""
        self.file = file
        #: Why nothing can be read; None if it can, or if nobody has asked yet.
        self.trouble: str | None = None
        # One thread: a question waits for the one before, and the file is read once at a time.
        self._thread = ThreadPoolExecutor(1, "bullrush-history")
        self._history: History | None = None
        self._inode: int | None = None
        self._minutes = Minutes()

    async def ask(self, question: Callable[[History], T]) -> T | None:
        """Ask the history something; None if there is none, or if it cannot be read: pages do without it."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, question)

    async def rates(self, queues: Sequence[str]) -> dict[str, Rates]:
        """Return how much comes into queues and goes out; nothing of those that are not recorded."""
        return await self.ask(lambda history: self._minutes.rates(history, queues)) or {}

    def _answer(self, question: Callable[[History], T]) -> T | None:
        try:
            found = question(self._opened())
        except (InvalidOptionError, sqlite3.Error, OSError) as error:
            self.trouble = f"{error}"
            return None
        self.trouble = None
        return found

    def _opened(self) -> History:
        """Return the history, opened again if there is another file at its place."""
        inode = os.stat(self.file).st_ino if self.file.exists() else None
        if self._history is None or inode != self._inode:
            if self._history is not None:
                self._history.close()
                self._history = None
            self._history, self._inode, self._minutes = History(self.file), inode, Minutes()
        return self._history
