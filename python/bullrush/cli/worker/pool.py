"""Several registries of tasks as one source of handlers: their queues share a worker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from typing import Any

from bullrush.errors import InvalidOptionError
from bullrush.worker import HandlerSource, Route


class Pool:
    """What a worker of several registries is made of. Each task has one name in all of them."""

    def __init__(self, sources: Mapping[str, HandlerSource]) -> None:
        """Make a pool of registries, by their targets.

        Raises:
            InvalidOptionError: they differ in what a worker has once, or are of one queue.
        """
        self._sources = sources
        (first, one), *others = sources.items()
        for target, other in others:
            for what in ("url", "prefix", "worker_options"):
                if getattr(other, what) != getattr(one, what):
                    raise InvalidOptionError(
                        f"{first} and {target} share a worker, since -Q gives a weight, and differ in their {what}: "
                        f"give both the same, or leave out the weights"
                    )
        if len({source.queue for source in sources.values()}) < len(sources):
            raise InvalidOptionError(f"{', '.join(sources)}: two are of one queue: let one include() the other")
        self.queue: str = one.queue
        self.url: str | None = one.url
        self.prefix: str = one.prefix
        self.worker_options: Mapping[str, Any] = one.worker_options

    def routes(self) -> dict[str, Route]:
        """Return the handlers of all tasks by name.

        Raises:
            InvalidOptionError: two registries have a task of one name.
        """
        found: dict[str, Route] = {}
        for target, source in self._sources.items():
            routes = source.routes()
            if both := sorted(found.keys() & routes.keys()):
                raise InvalidOptionError(
                    f"{target} has a task {both[0]!r}, as another registry of this worker has: give one of them a name="
                )
            found.update(routes)
        return found

    @contextmanager
    def running(self, worker: Any) -> Iterator[None]:
        """Open the blocks of all registries, in their order."""
        with ExitStack() as stack:
            for source in self._sources.values():
                stack.enter_context(source.running(worker))
            yield

    @asynccontextmanager
    async def arunning(self, worker: Any) -> AsyncIterator[None]:
        """Open the blocks of all registries on the loop of the worker, in their order."""
        async with AsyncExitStack() as stack:
            for source in self._sources.values():
                await stack.enter_async_context(source.arunning(worker))
            yield
