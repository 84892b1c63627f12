"""Why a coroutine ended: its task was cancelled, its event loop ended, or it ended by itself."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def task_starter(loop: asyncio.AbstractEventLoop) -> Callable[..., asyncio.Task[Any]]:
    """Return what starts a coroutine as a task for which `was_cancelled` works."""
    if sys.version_info >= (3, 11):
        return loop.create_task
    return functools.partial(_RecordingTask, loop=loop)


def was_cancelled(task: asyncio.Task[Any]) -> bool:
    """Tell whether `cancel` of a task was called.

    A `CancelledError` alone does not say so: what the task awaits may raise it, too.
    """
    if sys.version_info >= (3, 11):
        return task.cancelling() > 0
    return isinstance(task, _RecordingTask) and task.cancel_requested


def ended_from_outside(error: BaseException) -> bool:
    """Tell whether a coroutine ended because its task was cancelled, or because its event loop is gone."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return True
    return issubclass(type(error), asyncio.CancelledError) and task is not None and was_cancelled(task)


class _RecordingTask(asyncio.Task[T]):
    """A task that remembers that `cancel` was called, as tasks do since Python 3.11."""

    cancel_requested = False

    def cancel(self, msg: object = None) -> bool:
        self.cancel_requested = True
        return super().cancel(msg)
