"""What a worker does with registries: their handlers, and what is open while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bullrush.base.operation import run_async, run_blocking
from bullrush.errors import InvalidOptionError
from bullrush.scheduler.scheduler import JobSchedulerCalls
from bullrush.tasks.cron import CronRule, upsert
from bullrush.tasks.middleware import Middleware
from bullrush.tasks.running.handler import handler_of
from bullrush.tasks.running.scopes import WorkerScopes
from bullrush.tasks.task import Task
from bullrush.worker.routes import Route

#: Returns a block round a run of a worker.
Lifespan: TypeAlias = Callable[[], AbstractAsyncContextManager[object] | AbstractContextManager[object]]


@dataclass
class Part:
    """What one registry has for workers.

    Attributes:
        middleware: runs round each run; the first one is the outermost.
        lifespan: round each run of a worker.
        tasks: the tasks by name.
        crons: the rules of those that run by themselves.
        scopes: the values that live as long as a worker.
    """

    middleware: tuple[Middleware, ...] = ()
    lifespan: Lifespan | None = None
    tasks: dict[str, Task[Any, Any]] = field(default_factory=dict)
    crons: dict[str, CronRule] = field(default_factory=dict)
    scopes: WorkerScopes = field(default_factory=WorkerScopes)


#: A registry, and the middleware round it: that of the registries that include it, then its own.
Placed: TypeAlias = tuple[Part, tuple[Middleware, ...]]


def routes(parts: Sequence[Placed]) -> dict[str, Route]:
    """Return the handlers of all tasks by name.

    Raises:
        InvalidOptionError: two tasks have one name, or a task cannot run.
    """
    found: dict[str, Route] = {}
    for part, middleware in parts:
        for name, task in part.tasks.items():
            if name in found:
                raise InvalidOptionError(f"Two of the registries of this worker have a task {name!r}: give one a name=")
            timeout, retry_if = task.run_options
            found[name] = Route(handler_of(task, middleware, part.scopes), timeout, retry_if)
    return found


@contextmanager
def running(parts: Sequence[Placed], worker: Any) -> Iterator[None]:
    """Open lifespans and scopes for a worker whose handlers all run on threads."""
    with ExitStack() as stack:
        for part, _ in parts:
            if part.lifespan is not None:
                stack.enter_context(_blocking(part.lifespan()))
            stack.enter_context(part.scopes.threads())
        run_blocking(upsert(_schedulers(worker), _wanted(parts)))
        yield


@asynccontextmanager
async def arunning(parts: Sequence[Placed], worker: Any) -> AsyncIterator[None]:
    """Open lifespans and scopes on the loop of a worker."""
    async with AsyncExitStack() as stack:
        for part, _ in parts:
            if part.lifespan is not None:
                block = part.lifespan()
                if isinstance(block, AbstractAsyncContextManager):
                    await stack.enter_async_context(block)
                else:
                    stack.enter_context(block)
            stack.enter_context(part.scopes.threads())
            await stack.enter_async_context(part.scopes.loop())
        await run_async(upsert(_schedulers(worker), _wanted(parts)))
        yield


def _schedulers(worker: Any) -> JobSchedulerCalls[Any]:
    # Of the worker, since it may have another URL.
    found: JobSchedulerCalls[Any] = worker.job_scheduler
    return found


def _wanted(parts: Sequence[Placed]) -> dict[str, Any]:
    return {name: (rule, part.tasks[name].bind()) for part, _ in parts for name, rule in part.crons.items()}


@contextmanager
def _blocking(block: AbstractAsyncContextManager[object] | AbstractContextManager[object]) -> Iterator[None]:
    """Enter and leave a block on this thread; one that is asynchronous on a loop of its own."""
    if isinstance(block, AbstractContextManager):
        with block:
            yield
        return
    loop = asyncio.new_event_loop()
    stack = AsyncExitStack()
    try:
        loop.run_until_complete(stack.enter_async_context(block))
        try:
            yield
        finally:
            loop.run_until_complete(stack.aclose())
    finally:
        loop.close()
