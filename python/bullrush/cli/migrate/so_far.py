"""How far a move was that ends with an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from bullrush.cli.terminal.bar import Bar
from bullrush.cli.terminal.ending import CommandError, code_of
from bullrush.cli.terminal.output import jobs_of
from bullrush.errors import BullrushError, ConnectionLostError, OutcomeUnknownError, RedisServerError
from bullrush.extending import run_blocking
from bullrush.legacy import LegacyQueue, Progress, count_claimed


class SoFar:
    """Counts what moves.

    Args:
        legacy: the queue of Bull.
        bar: shows it.
        has_end: the move ends by itself, so its total is known.
    """

    def __init__(self, legacy: LegacyQueue, bar: Bar, *, has_end: bool = True) -> None:
        """Begin at 0."""
        self._legacy, self._bar, self._has_end = legacy, bar, has_end
        self.moved: int = 0

    def show(self, progress: Progress) -> None:
        """Take how far it is."""
        self.moved = progress.moved
        self._bar.show(progress.moved, progress.total if self._has_end else None)

    @contextmanager
    def with_counts(self) -> Iterator[None]:
        """Let errors of Redis and of the connection say how many jobs have moved, and how many are claimed."""
        try:
            yield
        except (ConnectionLostError, OutcomeUnknownError, RedisServerError) as error:
            claimed = 0
            with suppress(BullrushError):
                claimed = run_blocking(count_claimed(self._legacy))
            if not self.moved and not claimed:
                raise
            more = f", and {jobs_of(claimed)} {'is' if claimed == 1 else 'are'} claimed" if claimed else ""
            counts = f"{jobs_of(self.moved)} moved in this run{more}: run the same command again"
            raise CommandError(f"{str(error).removesuffix('.')}; {counts}", code_of(error)) from None
