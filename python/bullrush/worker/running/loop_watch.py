"""Is the event loop of a worker blocked? Asked from outside, since a blocked loop cannot tell."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bullrush.worker.running.loops import LoopRunner

#: Seconds between two questions to the loop.
_PAUSE: Final = 0.5
#: How many answers are kept: those of a minute.
_KEPT: Final = 120
#: Seconds without an answer after which the log says so.
_BLOCKED: Final = 2.0
#: So many jobs are named in the log.
_MOST_JOBS: Final = 10

_log: Final = logging.getLogger("bullrush")


class LoopWatch:
    """Asks the loop of a runner every half second to call a function, and notes how late it does."""

    def __init__(self, runner: LoopRunner) -> None:
        self._runner = runner
        #: When the question was asked that the loop has not answered yet.
        self._asked: float | None = None
        self._next = 0.0
        self._warned = False
        self._lags: deque[float] = deque(maxlen=_KEPT)

    def look(self) -> None:
        """Ask the loop, or warn if it does not answer. The thread that supervises the run calls it all the time."""
        loop, now, asked = self._runner.loop, time.monotonic(), self._asked
        if loop is None or not loop.is_running():
            self._asked = None
        elif asked is None:
            if now >= self._next:
                self._asked, self._next, self._warned = now, now + _PAUSE, False
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(self._answer, now)
        elif not self._warned and now - asked >= _BLOCKED:
            self._warned = True
            self._warn(loop, now - asked)

    @property
    def lag(self) -> float | None:
        """How many seconds late the loop is now, or was at its last answer; None before it runs."""
        if self._runner.loop is None:
            return None
        lags = self._lags.copy()
        return max(self._open(), lags[-1] if lags else 0.0)

    @property
    def longest_lag(self) -> float | None:
        """How many seconds late the loop was at most within the last minute; None before it runs."""
        return None if self._runner.loop is None else max(self._open(), *self._lags.copy(), 0.0)

    def _open(self) -> float:
        """Return for how long the loop owes an answer."""
        asked, loop = self._asked, self._runner.loop
        return 0.0 if asked is None or loop is None or not loop.is_running() else time.monotonic() - asked

    def _answer(self, asked: float) -> None:
        if asked == self._asked:  # the loop did not stand still meanwhile
            self._lags.append(time.monotonic() - asked)
            self._asked = None

    def _warn(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        jobs = self._runner.running_in(asyncio.current_task(loop))
        if not jobs:
            return  # something else of the program blocks the loop
        named = ", ".join(f"{job.id} ({job.name}) of {job.queue_name}" for job in jobs[:_MOST_JOBS])
        more = f" and {len(jobs) - _MOST_JOBS:,} more" if len(jobs) > _MOST_JOBS else ""
        _log.warning(
            "The event loop has been blocked for %.1f s, so no other coroutine can run. Running: job %s%s. Await what"
            " takes long, call what blocks with asyncio.to_thread, or make the handler a plain function",
            seconds, named, more,
        )  # fmt: skip
