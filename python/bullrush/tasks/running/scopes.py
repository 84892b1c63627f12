"""The values that live as long as a worker: one set for its threads, and one for each event loop."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from typing import Any

from bullrush.tasks.depends import Dependency
from bullrush.tasks.running.values import Made, amake, make


class ThreadScope:
    """The values for handlers on threads. Each is made at first use, by one thread."""

    def __init__(self) -> None:
        self._made: Made = {}
        # Reentrant: a provider needs other values of this scope.
        self._lock = threading.RLock()
        self._stack = ExitStack()

    def get(self, dependency: Dependency) -> Any:
        """Return the value of a dependency."""
        if dependency not in self._made:
            with self._lock:
                if dependency not in self._made:
                    make(dependency, self._made, self._stack, self)
        return self._made[dependency]

    def close(self) -> None:
        """End all values, the last one first."""
        self._stack.close()


class LoopScope:
    """The values for handlers on one event loop. Each is made at first use, once for all jobs that wait for it."""

    def __init__(self) -> None:
        self._made: Made = {}
        self._making: dict[Dependency, asyncio.Task[Any]] = {}
        self._stack = AsyncExitStack()

    async def get(self, dependency: Dependency) -> Any:
        """Return the value of a dependency."""
        if dependency in self._made:
            return self._made[dependency]
        if (making := self._making.get(dependency)) is None:
            making = asyncio.create_task(amake(dependency, self._made, self._stack, self))
            making.add_done_callback(lambda done: self._end(dependency, done))
            self._making[dependency] = making
        # A job that is cancelled, or has no time left, does not end what others wait for.
        return await asyncio.shield(making)

    def _end(self, dependency: Dependency, making: asyncio.Task[Any]) -> None:
        del self._making[dependency]
        if not making.cancelled():
            making.exception()  # known here, also if no job waits for it any more

    async def close(self) -> None:
        """End all values, the last one first."""
        making = list(self._making.values())
        for one in making:
            one.cancel()
        await asyncio.gather(*making, return_exceptions=True)
        await self._stack.aclose()


class WorkerScopes:
    """The scopes of the workers that run a registry in this process. Workers on the same loop share one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[object, list[Any]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # In a handler process: its values live as long as the process.
        return _of_this_process, ()

    @contextmanager
    def threads(self) -> Iterator[None]:
        """Keep the scope of threads open for the time of a run."""
        scope = self._enter(None, ThreadScope)
        try:
            yield
        finally:
            if self._leave(None):
                scope.close()

    @asynccontextmanager
    async def loop(self) -> AsyncIterator[None]:
        """Keep the scope of the running loop open for the time of a run."""
        loop = asyncio.get_running_loop()
        scope = self._enter(loop, LoopScope)
        try:
            yield
        finally:
            if self._leave(loop):
                await scope.close()

    def _enter(self, key: object, kind: type[Any]) -> Any:
        with self._lock:
            entry = self._open.setdefault(key, [kind(), 0])
            entry[1] += 1
            return entry[0]

    def _leave(self, key: object) -> bool:
        with self._lock:
            entry = self._open[key]
            entry[1] -= 1
            if entry[1] == 0:
                del self._open[key]
            return not entry[1]

    def of_threads(self, stack: ExitStack) -> ThreadScope:
        """Return the scope of threads. Outside a run it is a new one, which the stack ends."""
        if (entry := self._open.get(None)) is not None:
            return entry[0]  # type: ignore[no-any-return]
        scope = ThreadScope()
        stack.callback(scope.close)
        return scope

    def of_loop(self, stack: AsyncExitStack) -> LoopScope:
        """Return the scope of the running loop. Outside a run it is a new one, which the stack ends."""
        if (entry := self._open.get(asyncio.get_running_loop())) is not None:
            return entry[0]  # type: ignore[no-any-return]
        scope = LoopScope()
        stack.push_async_callback(scope.close)
        return scope


def _of_this_process() -> WorkerScopes:
    scopes = WorkerScopes()
    forever = scopes.threads()
    forever.__enter__()
    atexit.register(forever.__exit__, None, None, None)
    return scopes
