"""The handler that a worker calls for a task: decodes the data, fills dependencies, and calls the function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from typing import Any

from bullrush.errors import InvalidOptionError
from bullrush.extending import JSON, AsyncJob
from bullrush.job import Job
from bullrush.tasks.middleware import Middleware, overrides
from bullrush.tasks.running.scopes import WorkerScopes
from bullrush.tasks.running.values import afill, fill
from bullrush.tasks.task import AsyncTask, Task


def handler_of(task: Task[Any, Any], middleware: Sequence[Middleware], scopes: WorkerScopes) -> Callable[[Any], Any]:
    """Return the handler of a task; it is awaited for an ``async def``.

    Args:
        task: the task.
        middleware: runs round each run; the first one is the outermost.
        scopes: the values that live as long as a worker.

    Raises:
        InvalidOptionError: an annotation has no form in JSON, or a ``def`` has a dependency that needs an event loop.
    """
    task.signature.check()
    if isinstance(task, AsyncTask):
        return LoopHandler(task, middleware, scopes)
    for name, dependency in task.signature.dependencies.items():
        if dependency.is_async:
            raise InvalidOptionError(
                f"Task {task.name}: {name} needs an event loop, and a def runs on a thread. Make it an async def, or "
                "give it a provider that needs none"
            )
    return ThreadHandler(task, middleware, scopes)


class _Handler:
    """What both kinds have in common. A handler process makes its own from the task, which it imports."""

    def __init__(self, task: Task[Any, Any], middleware: Sequence[Middleware], scopes: WorkerScopes) -> None:
        self._made_of = task, middleware, scopes
        self._read, self._call, self._encode = task.signature.read, task.signature.call, task.signature.encode_result
        self._is_json = task.signature.has_json_result
        self._wanted = task.signature.dependencies
        self._scopes = scopes
        self._blocks = self._blocks_of(middleware)
        self._is_bare = not self._blocks and not self._wanted

    def _blocks_of(self, middleware: Sequence[Middleware]) -> list[Callable[[Any], Any]]:
        return [one.around for one in middleware if overrides(one, "around")]

    def __reduce__(self) -> tuple[Any, ...]:
        return handler_of, self._made_of

    def __repr__(self) -> str:
        return f"<handler of {self._made_of[0]!r}>"


class ThreadHandler(_Handler):
    """Runs a task on a thread."""

    def __call__(self, job: Job) -> JSON:
        """Run the task with the data of a job, and return its result as JSON."""
        if self._is_bare:
            value = self._call(self._read(job))
            return value if self._is_json else self._encode(value)
        with ExitStack() as stack:
            for block in self._blocks:
                stack.enter_context(block(job))
            values = self._read(job)  # first: data that does not fit opens no dependency
            if self._wanted:
                values |= fill(self._wanted, {}, stack, self._scopes.of_threads(stack))
            return self._encode(self._call(values))


class LoopHandler(_Handler):
    """Runs a task on an event loop."""

    def _blocks_of(self, middleware: Sequence[Middleware]) -> list[Callable[[Any], Any]]:
        return [
            one.aaround if overrides(one, "aaround") else one.around
            for one in middleware
            if overrides(one, "aaround") or overrides(one, "around")
        ]

    async def __call__(self, job: AsyncJob) -> JSON:
        """Run the task with the data of a job, and return its result as JSON."""
        if self._is_bare:
            value = await self._call(self._read(job))
            return value if self._is_json else self._encode(value)
        async with AsyncExitStack() as stack:
            for block in self._blocks:
                entered = block(job)
                if hasattr(type(entered), "__aenter__"):
                    await stack.enter_async_context(entered)
                else:
                    stack.enter_context(entered)
            values = self._read(job)
            if self._wanted:
                values |= await afill(self._wanted, {}, stack, self._scopes.of_loop(stack))
            return self._encode(await self._call(values))
