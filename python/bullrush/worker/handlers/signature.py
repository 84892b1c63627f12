"""What kind of handler a function is: plain or coroutine, with or without the lock token."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bullrush.errors import InvalidOptionError

if TYPE_CHECKING:
    from bullrush.job.job import JobCalls


def is_async(function: Callable[..., object]) -> bool:
    """Tell whether a function, a `functools.partial` or an object with ``__call__`` returns a coroutine."""
    while isinstance(function, functools.partial):
        function = function.func
    call = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def imported(name: str) -> Callable[..., Any]:
    """Return the handler of this name, ``module:function``.

    Raises:
        InvalidOptionError: there is no such function.
    """
    # Imported here, since few programs give a handler by name.
    from pkgutil import resolve_name

    try:
        found = resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidOptionError(
            f"The handler {name!r} cannot be imported ({type(error).__name__}: {error}): write 'module:function'"
        ) from error
    if not callable(found):
        raise InvalidOptionError(
            f"The handler {name!r} is a {type(found).__name__} and not a function: write 'module:function'"
        )
    return found  # type: ignore[no-any-return]


def of_jobs(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a batch handler, which takes a list of jobs.

    Raises:
        InvalidOptionError: it does not take exactly one argument.
    """
    if not _accepts(function, 1):
        raise InvalidOptionError(f"batch_handler must take a list of jobs; {function!r} does not")
    return function


def of_job(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a handler as a function of the job alone.

    A handler with two arguments also gets the lock token, as in BullMQ.

    Raises:
        InvalidOptionError: it takes neither one nor two arguments.
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
    """Tell whether a function takes this number of arguments; True if it has no signature, as some functions in C."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True
