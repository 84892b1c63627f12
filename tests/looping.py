"""An event loop on a thread of its own, for servers that tests put between a client and Redis."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self


T = TypeVar("T")


class Looping:
    """Runs steps on its loop, which ends with the block. A subclass closes in `_close` what it has opened."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        raise NotImplementedError

    def _stop_accepting(self, listener: asyncio.Server) -> None:
        """Accept no more. The listener closes last: asyncio forgets a connection that is being accepted meanwhile."""
        for listening in listener.sockets:
            self._loop.remove_reader(listening.fileno())

    def _run(self, step: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(step, self._loop).result(10)

    def _call(self, function: Callable[[], object]) -> None:
        async def call() -> None:
            function()

        self._run(call())
