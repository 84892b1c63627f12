"""Finds the handler of a job by the job's name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from bullrush.errors import DelayedError, UnrecoverableError
from bullrush.job.job import AsyncJob, Job, JobCalls
from bullrush.worker.handlers.signature import is_async, of_job

#: How long a job without a handler is delayed, in ms.
UNKNOWN_DELAY: Final = 5_000
#: For so many names a worker logs that it has no handler for them. Producers choose names.
_MOST_WARNINGS: Final = 1_000

_log: Final = logging.getLogger("bullrush.worker")


class PostponedError(DelayedError):
    """The job goes to ``delayed`` for `UNKNOWN_DELAY`, and no attempt is counted."""


class Dispatch:
    """The handlers of a worker by the names of their jobs.

    Attributes:
        plain: runs a job whose handler is a plain function; None if there is none.
        coroutine: runs a job whose handler is a coroutine function; None if there is none.
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]], *, delay_unknown: bool) -> None:
        self._functions = {name: of_job(function) for name, function in functions.items()}
        self._coroutines = frozenset(name for name, function in self._functions.items() if is_async(function))
        self._delay_unknown = delay_unknown
        self._warned: set[str] = set()
        has_plain = len(self._coroutines) < len(self._functions)
        self.plain: Callable[[Job], Any] | None = self._call if has_plain else None
        self.coroutine: Callable[[AsyncJob], Any] | None = self._call_async if self._coroutines else None

    def is_async(self, name: str) -> bool:
        """Tell whether a job of this name runs as a coroutine. One without a handler does if no handler is plain."""
        return name in self._coroutines or self.plain is None

    def with_all(self, function: Callable[[Job], Any]) -> Callable[[Job], Any]:
        """Return what runs one plain function for the jobs of all names that have a handler."""
        same = Dispatch(dict.fromkeys(self._functions, function), delay_unknown=self._delay_unknown)
        assert same.plain is not None
        return same.plain

    def _call(self, job: Job) -> Any:
        function = self._functions.get(job.name)
        if function is None:
            raise self._unknown(job)
        return function(job)

    async def _call_async(self, job: AsyncJob) -> Any:
        function = self._functions.get(job.name)
        if function is None:
            raise self._unknown(job)
        return await function(job)

    def _unknown(self, job: JobCalls) -> Exception:
        known = ", ".join(sorted(self._functions))
        if not self._delay_unknown:
            return UnrecoverableError(f"No handler for jobs named {job.name!r}. This worker has handlers for: {known}")
        if job.name not in self._warned and len(self._warned) < _MOST_WARNINGS:
            self._warned.add(job.name)
            text = "No handler for jobs named %r of queue %r: they are delayed for %d ms, again and again. Handlers: %s"
            _log.warning(text, job.name, job.queue_name, UNKNOWN_DELAY, known)
        return PostponedError()
