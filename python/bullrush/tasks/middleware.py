"""Code of a program that runs round every enqueue and every run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, TypeAlias

from bullrush.errors import InvalidOptionError
from bullrush.extending import AsyncJob
from bullrush.job import Job
from bullrush.tasks.new_task import NewTask

EnqueueHook: TypeAlias = Callable[[NewTask[Any]], NewTask[Any]]


class Middleware:
    """Base of middleware; override what you need.

    The first middleware of a registry is the outermost one. The calls are plain, since blocking and awaited producers
    share them.
    """

    def on_enqueue(self, task: NewTask[Any]) -> NewTask[Any]:
        """Return the job to add: called before anything is written.

        It may add options, and data under names that begin with an underscore: the function does not get these.

        Args:
            task: the job before it is added.
        """
        return task

    def around(self, job: Job | AsyncJob) -> AbstractContextManager[object]:  # noqa: ARG002
        """Return a block round every run, on the thread or the loop of the handler. It sees the run's exception.

        Args:
            job: the job that runs.
        """
        return nullcontext()

    def aaround(self, job: AsyncJob) -> AbstractAsyncContextManager[object]:  # noqa: ARG002
        """Return a block round every run of an ``async def``, instead of `around`.

        Args:
            job: the job that runs.
        """
        return nullcontext()


def overrides(middleware: Middleware, call: str) -> bool:
    """Tell whether a middleware has a call of its own."""
    return getattr(type(middleware), call, None) is not getattr(Middleware, call)


def enqueue_hooks(middleware: Iterable[Middleware]) -> list[EnqueueHook]:
    """Return what to call with each new job, in order."""
    hooks: list[EnqueueHook] = []
    for one in middleware:
        if not isinstance(one, Middleware):
            raise InvalidOptionError(f"middleware must be objects of subclasses of Middleware, not {one!r}")
        if overrides(one, "on_enqueue"):
            hooks.append(_checked(one.on_enqueue))
    # What is changed is a copy: the options of a task are shared by its jobs.
    return [_copied, *hooks] if hooks else []


def _checked(hook: EnqueueHook) -> EnqueueHook:
    def call(task: NewTask[Any]) -> NewTask[Any]:
        returned: object = hook(task)
        if isinstance(returned, NewTask):
            return returned
        raise TypeError(f"{hook.__qualname__} must return the NewTask to add, not {type(returned).__name__}")

    return call


def _copied(task: NewTask[Any]) -> NewTask[Any]:
    return replace(task, data={**task.data}, opts={**task.opts})
