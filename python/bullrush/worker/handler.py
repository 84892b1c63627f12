"""What a worker can be given to run, told by its signature."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bullrush.errors import InvalidOptionError

if TYPE_CHECKING:
    from bullrush.job.job import JobCalls


def is_async(function: Callable[..., object]) -> bool:
    """Tell whether calling a function returns a coroutine, also through `functools.partial` or ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def of_jobs(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a batch handler, which gets a list of jobs and nothing else.

    Raises:
        InvalidOptionError: it needs fewer arguments, or more.
    """
    if not _accepts(function, 1):
        raise InvalidOptionError(f"batch_handler must take a list of jobs; {function!r} does not")
    return function


def of_job(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a handler as a function of the job alone: one that needs the lock token as well gets it, as in BullMQ.

    Raises:
        InvalidOptionError: it needs fewer arguments, or more.
    """
    if _accepts(function, 1):
        return function
    if not _accepts(function, 2):
        raise InvalidOptionError(f"handler must take a job, or a job and its token; {function!r} does not")

    def call(job: JobCalls) -> Any:
        return function(job, job.token)

    async def call_async(job: JobCalls) -> Any:
        return await function(job, job.token)

    return call_async if is_async(function) else call


def _accepts(function: Callable[..., Any], count: int) -> bool:
    """Tell whether a function can be called with so many arguments. Some functions written in C do not tell."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True
