"""A line that says how a command goes, where somebody looks."""

from __future__ import annotations

import logging
import shutil
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Final

from bullrush.cli.terminal.visible import visible

if TYPE_CHECKING:
    from typing_extensions import Self

_EVERY: Final = 1.0
#: Back to the beginning of the line, and clear it.
_AGAIN: Final = "\r\x1b[K"


class LiveLine(logging.Handler):
    """The last line of stderr, rewritten once a second while the block runs; nothing if stderr is no terminal.

    What is logged meanwhile stands above it.
    """

    def __init__(self, tell: Callable[[], str]) -> None:
        """Take what returns the text."""
        super().__init__(logging.WARNING)
        self._tell = tell
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._logger = logging.getLogger("bullrush")

    def __enter__(self) -> Self:
        """Show the line."""
        if sys.stderr.isatty():
            self._logger.addHandler(self)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the line as it was last."""
        if self._thread.is_alive():
            self._ended.set()
            self._thread.join()
            self._logger.removeHandler(self)
            self._show()
            sys.stderr.write("\n")

    def _run(self) -> None:
        while not self._ended.wait(_EVERY):
            self._show()

    def _show(self) -> None:
        text = visible(self._tell(), line=True)
        self.acquire()
        try:
            # A longer line would wrap, and its first part would stay.
            sys.stderr.write(_AGAIN + text[: shutil.get_terminal_size().columns - 1])
            sys.stderr.flush()
        finally:
            self.release()

    def emit(self, record: logging.LogRecord) -> None:
        """Print what is logged above the line."""
        sys.stderr.write(_AGAIN + visible(self.format(record), line=True) + "\n")
        sys.stderr.flush()
