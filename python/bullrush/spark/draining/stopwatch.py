"""Measures how long a handler takes for each job."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from bullrush.extending import JobCalls, is_async

_MS = 1_000


class Stopwatch:
    """Wraps handlers, and keeps the time of the last attempt of each job until `take`."""

    def __init__(self) -> None:
        #: By queue and id: ids are per queue, and a worker may serve several.
        self._times: dict[tuple[str, str], float] = {}

    def take(self, job: JobCalls) -> float:
        """Return the time of a job's last attempt in ms; 0 if its handler was not called."""
        return self._times.pop((job.queue_name, job.id), 0.0)

    def around(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        """Return the handler with time measurement. Each job of a batch gets an equal part of the time."""
        if is_async(handler):

            @functools.wraps(handler)
            async def timed_async(given: JobCalls | Sequence[JobCalls], *token: str | None) -> object:
                began = perf_counter()
                try:
                    return await handler(given, *token)
                finally:
                    self._note(given, (perf_counter() - began) * _MS)

            return timed_async

        @functools.wraps(handler)
        def timed(given: JobCalls | Sequence[JobCalls], *token: str | None) -> object:
            began = perf_counter()
            try:
                return handler(given, *token)
            finally:
                self._note(given, (perf_counter() - began) * _MS)

        return timed

    def _note(self, given: JobCalls | Sequence[JobCalls], ms: float) -> None:
        if isinstance(given, JobCalls):
            self._times[given.queue_name, given.id] = ms
        else:
            for job in given:
                self._times[job.queue_name, job.id] = ms / len(given)
