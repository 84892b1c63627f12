"""What a worker does with registries: their handlers, and what is open while it runs."""

from __future__ import annotations

import asyncio
import logging
import threading
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

from bullrush.errors import ConnectionLostError, InvalidOptionError, OutcomeUnknownError, RedisServerError
from bullrush.extending import JobSchedulerCalls, monitored_queue, run_async, run_blocking
from bullrush.tasks.cron import Rule, are_lost, upsert, write_changed
from bullrush.tasks.middleware import Middleware
from bullrush.tasks.running.handler import handler_of
from bullrush.tasks.running.scopes import WorkerScopes
from bullrush.tasks.task import Task
from bullrush.worker import Route

_log: Final = logging.getLogger("bullrush.worker")
_TIMEOUT_MS: Final = 2_000
#: Seconds before Redis is asked again: the first pause, and the longest one.
_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 1.0
#: Seconds between two looks whether Redis still has the schedulers, as the code says them.
_LOOK_EVERY: Final = 60.0
#: What may pass. If it does not, the worker meets it as well, and decides whether it ends.
_AWAY: Final = (ConnectionLostError, OutcomeUnknownError, RedisServerError)

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
        import_path: where the registry is, such as ``app.jobs:tasks``; None if that is not known.
    """

    middleware: tuple[Middleware, ...] = ()
    lifespan: Lifespan | None = None
    tasks: dict[str, Task[Any, Any]] = field(default_factory=dict)
    crons: dict[str, Rule] = field(default_factory=dict)
    scopes: WorkerScopes = field(default_factory=WorkerScopes)
    import_path: str | None = None


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
def running(parts: Sequence[Placed], queue: str, worker: Any) -> Iterator[None]:
    """Open lifespans and scopes for a worker whose handlers all run on threads."""
    with ExitStack() as stack:
        for part, _ in parts:
            if part.lifespan is not None:
                stack.enter_context(_blocking(part.lifespan()))
        stack.enter_context(parts[0][0].scopes.threads())
        schedulers = _Schedulers(worker, queue, parts)
        refusal = run_blocking(schedulers.make())
        stack.enter_context(schedulers.kept(refusal))
        yield


@asynccontextmanager
async def arunning(parts: Sequence[Placed], queue: str, worker: Any) -> AsyncIterator[None]:
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
        schedulers = _Schedulers(worker, queue, parts)
        refusal = await run_async(schedulers.make())
        stack.enter_context(schedulers.kept(refusal))
        yield


class Turns:
    """When a worker writes again what another version of the code has written: at rarer and rarer looks.

    During a deployment two versions live. If each wrote at each look, each would replace the next jobs of the other.
    """

    def __init__(self) -> None:
        self._left_out, self._next = 0, 1

    def is_due(self) -> bool:
        """Count a look, and return whether it may write."""
        self._left_out -= 1
        return self._left_out < 0

    def took(self) -> int:
        """Note that it has written, and return how many looks it leaves out now."""
        self._left_out, self._next = self._next, 2 * self._next
        return self._left_out


class _Schedulers:
    """The job schedulers of a worker's registries: made when it starts, or as soon as Redis takes them."""

    def __init__(self, worker: Any, queue: str, parts: Sequence[Placed]) -> None:
        self._worker = worker
        self._wanted = {name: (rule, part.tasks[name].bind()) for part, _ in parts for name, rule in part.crons.items()}
        self._import_path = parts[0][0].import_path
        self._turns = Turns()
        # Of the worker, since it may have another URL. Each call is short, so that a worker that waits can be closed.
        self._calls: JobSchedulerCalls[Any] = monitored_queue(worker, queue, _TIMEOUT_MS).job_scheduler

    async def make(self) -> Exception | None:
        """Make them, and return why Redis did not take them. An operation."""
        try:
            await upsert(self._calls, self._wanted, self._import_path)
        except _AWAY as error:
            return error
        return None

    @contextmanager
    def kept(self, refusal: Exception | None) -> Iterator[None]:
        """Try again while the block runs, beside the jobs of the worker, and make them again if Redis loses its data.

        Args:
            refusal: why Redis did not take them; None if it did.
        """
        ended = threading.Event()
        if refusal is not None or self._wanted:
            # It is not joined, since a call may take its time. A daemon, for the same reason.
            threading.Thread(target=self._keep, args=(refusal, ended), name="bullrush-crons", daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    def _keep(self, refusal: Exception | None, ended: threading.Event) -> None:
        try:
            self._try(refusal, ended)
            while self._wanted and not ended.wait(_LOOK_EVERY) and not self._worker.closing:
                if run_blocking(self._are_lost()):
                    _log.warning(
                        "%r: Redis has lost the job schedulers of its tasks: they are made again", self._worker
                    )
                    self._try(run_blocking(self.make()), ended)
                elif self._turns.is_due() and (changed := run_blocking(self._write_changed())):
                    _log.warning(
                        "%r: another version of the code has written the job schedulers of these tasks, which are "
                        "now as the code of this worker says: %s. If it writes them again, this worker does, too, "
                        "in %d minutes",
                        self._worker,
                        ", ".join(changed),
                        self._turns.took() + 1,
                    )
        except Exception:
            _log.exception("%r: the job schedulers of its tasks cannot be made", self._worker)

    async def _are_lost(self) -> bool:
        try:
            return await are_lost(self._calls, self._wanted)
        except _AWAY:
            return False  # the worker itself says that Redis is away

    async def _write_changed(self) -> list[str]:
        try:
            return await write_changed(self._calls, self._wanted)
        except _AWAY:
            return []  # the next look tries it again

    def _try(self, refusal: Exception | None, ended: threading.Event) -> None:
        logged: int | str | None = None
        pause = _PAUSE
        while refusal is not None:
            # First a pause: an error that ends the worker is not logged twice.
            if ended.wait(pause) or self._worker.closing:
                return
            pause = min(pause * 2, _LONGEST_PAUSE)
            # That Redis is away is logged by the worker itself.
            if isinstance(refusal, RedisServerError) and refusal.code != logged:
                _log.error("%r: could not make the job schedulers of its tasks: %s", self._worker, refusal)
                logged = refusal.code
            refusal = run_blocking(self.make())
        if logged is not None:
            _log.warning("%r: the job schedulers of its tasks are made", self._worker)


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
