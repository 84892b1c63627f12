"""The handler that a worker calls for a task: decodes the data, fills dependencies, and calls the function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from types import MappingProxyType
from typing import Any, Final

from bullrush.errors import InvalidOptionError
from bullrush.job.job import AsyncJob, Job
from bullrush.tasks.middleware import Middleware, overrides
from bullrush.tasks.running.scopes import WorkerScopes
from bullrush.tasks.running.values import afill, fill
from bullrush.tasks.task import AsyncTask, Task
from bullrush.values.encoding import JSON

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def handler_of(task: Task[Any, Any], middleware: Sequence[Middleware], scopes: WorkerScopes) -> Callable[[Any], Any]:
    """Return the handler of a task: a coroutine function for an ``async def``.

    Args:
        task: the task.
        middleware: runs round each run; the first one is the outermost.
        scopes: the values that live as long as a worker.

    Raises:
        InvalidOptionError: an annotation has no form in JSON, or a ``def`` has a dependency that needs an event loop.
    """
    task.signature.check()
    if isinstance(task, AsyncTask):
        return _on_loop(task, middleware, scopes)
    for name, dependency in task.signature.dependencies.items():
        if dependency.is_async:
            raise InvalidOptionError(
                f"Task {task.name}: {name} needs an event loop, and a def runs on a thread. Make it an async def, or "
                "give it a provider that needs none"
            )
    return _on_thread(task, middleware, scopes)


def _on_thread(task: Task[Any, Any], middleware: Sequence[Middleware], scopes: WorkerScopes) -> Callable[[Job], JSON]:
    signature = task.signature
    blocks = [one.around for one in middleware if overrides(one, "around")]
    wanted, encode = signature.dependencies, signature.encode_result

    def run(job: Job) -> JSON:
        return encode(signature.call(job.data, job.id, _NOTHING))

    def run_inside(job: Job) -> JSON:
        with ExitStack() as stack:
            for block in blocks:
                stack.enter_context(block(job))
            values = fill(wanted, {}, stack, scopes.of_threads(stack)) if wanted else _NOTHING
            return encode(signature.call(job.data, job.id, values))

    return run_inside if blocks or wanted else run


def _on_loop(task: Task[Any, Any], middleware: Sequence[Middleware], scopes: WorkerScopes) -> Callable[[AsyncJob], Any]:
    signature = task.signature
    blocks: list[Callable[[AsyncJob], Any]] = [
        one.aaround if overrides(one, "aaround") else one.around
        for one in middleware
        if overrides(one, "aaround") or overrides(one, "around")
    ]
    wanted, encode = signature.dependencies, signature.encode_result

    async def run(job: AsyncJob) -> JSON:
        return encode(await signature.call(job.data, job.id, _NOTHING))

    async def run_inside(job: AsyncJob) -> JSON:
        async with AsyncExitStack() as stack:
            for block in blocks:
                entered = block(job)
                if hasattr(type(entered), "__aenter__"):
                    await stack.enter_async_context(entered)
                else:
                    stack.enter_context(entered)
            values = await afill(wanted, {}, stack, scopes.of_loop(stack)) if wanted else _NOTHING
            return encode(await signature.call(job.data, job.id, values))

    return run_inside if blocks or wanted else run
