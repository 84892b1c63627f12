"""The clock of a process under test."""

from __future__ import annotations

from typing import ClassVar

from bullrush.errors import InvalidOptionError
from bullrush.extending import Duration, advance_clock, checks, now_ms, stop_clock


class Clock:
    """Moves the time that bullrush sees in this process, so that delays, backoffs and job schedulers need no waiting.

    What Redis itself times does not follow: locks, rate limits, the ``ttl`` of deduplication. Nor do ``time.time()``,
    the timeouts of handlers and other processes.

    As a context manager it sets the real time at the end; of nested ones, the outermost does.
    """

    _entered: ClassVar[int] = 0

    @property
    def now(self) -> int:
        """The time in ms since 1970."""
        return now_ms()

    def advance(self, by: Duration) -> None:
        """Move the time ahead; idle workers of this process look for jobs that are due now.

        Args:
            by: ms or a timedelta.

        Raises:
            InvalidOptionError: it is negative.
        """
        ms = checks.milliseconds("by", by)
        if ms < 0:
            raise InvalidOptionError(f"A clock cannot go back: by must not be negative, not {by!r}")
        advance_clock(ms)

    def stop(self, at: int | None = None) -> None:
        """Stop the time; `advance` still moves it.

        Args:
            at: ms since 1970; by default now.
        """
        stop_clock(now_ms() if at is None else checks.whole("at", at))

    def reset(self) -> None:
        """Set the real time, and let it run."""
        stop_clock(None)

    def __enter__(self) -> Clock:
        Clock._entered += 1
        return self

    def __exit__(self, *_: object) -> None:
        Clock._entered -= 1
        if not Clock._entered:
            self.reset()
