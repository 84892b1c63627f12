"""How far a long call is, where somebody looks."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Final

from bullrush.cli.terminal.output import say

if TYPE_CHECKING:
    from rich.progress import Progress
    from typing_extensions import Self

_TOO_OFTEN: Final = 100


class Bar:
    """A bar on stderr while the block runs, by Rich if it is installed; nothing if stderr is no terminal."""

    def __init__(self, title: str) -> None:
        """Take what is done, in a word."""
        self._title = title
        self._running = ExitStack()
        self._rich: Progress | None = None
        self._shown = 0

    def __enter__(self) -> Self:
        """Show the bar."""
        if sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
            except ModuleNotFoundError:
                return self
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._rich = self._running.enter_context(Progress(*columns, console=Console(stderr=True)))
            self._rich.add_task(self._title, total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the bar as it is."""
        self._running.close()
        if self._rich is None and self._shown:
            sys.stderr.write("\n")

    def show(self, done: int, total: int | None = None) -> None:
        """Show how much is done, of how much if that is known. An estimate that was too low grows."""
        total = None if total is None else max(done, total)
        if self._rich is not None:
            self._rich.update(self._rich.task_ids[0], completed=done, total=total)
        elif sys.stderr.isatty() and (done - self._shown >= (total or 0) / _TOO_OFTEN or done == total):
            self._shown = done
            sys.stderr.write(f"\r{self._title} {done}" + ("" if total is None else f"/{total}"))
            sys.stderr.flush()

    def say(self, line: str) -> None:
        """Print a line on stderr, above the bar."""
        if self._rich is not None:
            self._rich.console.print(line, markup=False, highlight=False, soft_wrap=True)
            return
        if self._shown:
            sys.stderr.write("\n")
        say(line)
