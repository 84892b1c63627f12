"""What a worker does with registries: their handlers, and what is open while it runs."""

from __future__ import annotations

import asyncio
import logging
import time
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
from typing import Any, Final, TypeAlias

from bullrush.errors import ConnectionLostError, InvalidOptionError
from bullrush.extending import JobSchedulerCalls, monitored_queue, run_async, run_blocking, sleep
from bullrush.tasks.cron import CronRule, upsert
from bullrush.tasks.middleware import Middleware
from bullrush.tasks.running.handler import handler_of
from bullrush.tasks.running.scopes import WorkerScopes
from bullrush.tasks.task import Task
from bullrush.worker import Route

_log: Final = logging.getLogger("bullrush.worker")
_TIMEOUT_MS: Final = 2_000
#: How many errors may come at once, and the seconds between them.
_TRIES: Final = 3
_PAUSE: Final = 0.1

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
        scopes: the values that live as long as a worker of this registry; also for the registries that it includes.
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

    Args:
        parts: the registry of the worker, then those that it includes.

    Raises:
        InvalidOptionError: two tasks have one name, or a task cannot run.
    """
    found: dict[str, Route] = {}
    for part, middleware in parts:
        for name, task in part.tasks.items():
            if name in found:
                raise InvalidOptionError(f"Two of the registries of this worker have a task {name!r}: give one a name=")
            found[name] = Route(handler_of(task, middleware, parts[0][0].scopes), *task.run_options)
    return found


@contextmanager
def running(parts: Sequence[Placed], worker: Any) -> Iterator[None]:
    """Open lifespans and scopes for a worker whose handlers all run on threads."""
    with ExitStack() as stack:
        for part, _ in parts:
            if part.lifespan is not None:
                stack.enter_context(_blocking(part.lifespan()))
        stack.enter_context(parts[0][0].scopes.threads())
        # The worker's own warnings come when this has ended.
        run_blocking(_make_schedulers(worker, _wanted(parts), tell=True))
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
        stack.enter_context(parts[0][0].scopes.threads())
        await stack.enter_async_context(parts[0][0].scopes.loop())
        await run_async(_make_schedulers(worker, _wanted(parts)))
        yield


async def _make_schedulers(worker: Any, wanted: dict[str, Any], *, tell: bool = False) -> None:
    """Make the job schedulers. An operation. While Redis is away it waits, as the worker itself does."""
    # Of the worker, since it may have another URL. Each call is short, so that a worker that waits can be closed.
    schedulers: JobSchedulerCalls[Any] = monitored_queue(worker, worker.name, _TIMEOUT_MS).job_scheduler
    quick = 0
    while not worker.closing:
        began = time.monotonic()
        try:
            await upsert(schedulers, wanted)
        except ConnectionLostError as error:
            # Errors that come at once stay, such as a certificate that cannot be trusted.
            quick += time.monotonic() - began < _TIMEOUT_MS / 1_000 / 2
            if quick == _TRIES:
                raise
            if tell:
                _log.warning("%r waits for Redis: %s", worker, error)
                tell = False
            await sleep(_PAUSE)
        else:
            return


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
