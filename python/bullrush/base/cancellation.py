"""Who ended a coroutine: whoever cancelled its task, the end of its loop, or the coroutine itself."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def new_task(loop: asyncio.AbstractEventLoop, steps: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Start a task that `was_cancelled` can be asked about."""
    if sys.version_info >= (3, 11):
        return loop.create_task(steps)
    return _NotedTask(steps, loop=loop)


def was_cancelled(task: asyncio.Task[Any]) -> bool:
    """Tell whether somebody cancelled a task: a `CancelledError` may also come out of what it awaits."""
    if sys.version_info >= (3, 11):
        return task.cancelling() > 0
    return isinstance(task, _NotedTask) and task.cancelled_once


def nobody_runs_on(error: BaseException) -> bool:
    """Tell whether a coroutine ended since its task was cancelled from outside, or since its loop is gone."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return True
    return issubclass(type(error), asyncio.CancelledError) and task is not None and was_cancelled(task)


class _NotedTask(asyncio.Task[T]):
    """A task that remembers that it was cancelled, as those of later Pythons do."""

    cancelled_once = False

    def cancel(self, msg: object = None) -> bool:
        self.cancelled_once = True
        return super().cancel(msg)
