"""A queue that BullMQ's own port for Python uses, while bullrush uses it, too. Needs the package `bullmq`."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import bullmq

#: Sometimes the port's worker never ends, although no job is left.
_CLOSING_SECONDS = 2.0

#: Gets a job and the token of its lock, as the port passes them.
Handler = Callable[[Any, str], Awaitable[Any]]


class PortQueue:
    """One queue as the port uses it. The methods of its ``Queue`` and ``Job`` keep their names."""

    def __init__(self, name: str, url: str) -> None:
        self._name = name
        self._url = url

    def call(self, method: str, *args: Any) -> Any:
        """Call a method of a queue that is open only for this."""

        async def run() -> Any:
            queue = bullmq.Queue(self._name, {"connection": self._url})
            try:
                return await getattr(queue, method)(*args)
            finally:
                await queue.close()

        return asyncio.run(run())

    def add(self, name: str, data: Any, **opts: Any) -> str:
        id: str = self.call("add", name, data, opts).id
        return id

    def job(self, id: str) -> Any:
        return self.call("getJob", id)

    def add_flow(self, flow: dict[str, Any]) -> None:
        async def run() -> None:
            flows = bullmq.FlowProducer({"connection": self._url})
            try:
                await flows.add(flow)
            finally:
                await flows.close()

        asyncio.run(run())

    @contextmanager
    def worker(self, handler: Handler, **opts: Any) -> Iterator[None]:
        """Run a worker of the port, in a thread with a loop of its own."""
        stopped = threading.Event()

        async def run() -> None:
            worker = bullmq.Worker(self._name, handler, {"connection": self._url, "autorun": False, **opts})
            running = asyncio.ensure_future(worker.run())
            await asyncio.to_thread(stopped.wait)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(worker.close(), _CLOSING_SECONDS)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

        # Seldom not even a cancelled one ends: nothing waits for it then.
        thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join(10)
