"""What a worker can be given to run, told by its signature."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bullrush.job import JobCalls

_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
#: The job and the token.
_BOTH: Final = 2


def is_async(function: Callable[..., object]) -> bool:
    """Tell whether calling a function returns a coroutine, also through `functools.partial` or ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def of_job(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a handler as a function of the job alone: one that asks for the lock token as well gets it, as in BullMQ."""
    if not _takes_token(function):
        return function

    def call(job: JobCalls) -> Any:
        return function(job, job.token)

    async def call_async(job: JobCalls) -> Any:
        return await function(job, job.token)

    return call_async if is_async(function) else call


def _takes_token(function: Callable[..., Any]) -> bool:
    """Tell whether a function must be called with two arguments. A second parameter with a default keeps its default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        # Some functions written in C do not tell.
        return False
    needed = [one for one in parameters if one.kind in _POSITIONAL and one.default is one.empty]
    return len(needed) == _BOTH
