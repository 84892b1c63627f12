"""The event stream of a queue, read on an event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from bullrush.base.closing import AsyncContext
from bullrush.base.listeners import LoopListeners
from bullrush.base.operation import run_async
from bullrush.errors import BullrushError
from bullrush.events.event import Event
from bullrush.events.queue_events import REFUSALS, EventIteration, QueueEventsCalls
from bullrush.values.checks import Duration

if TYPE_CHECKING:
    from typing_extensions import Self


class Events(EventIteration):
    """An iterator for ``async for``."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if self.needs_more and not await run_async(self._more()):
            raise StopAsyncIteration
        return self._next()


class QueueEvents(AsyncContext, QueueEventsCalls):
    """The events of a queue for asyncio: `bullrush.QueueEvents` with its calls awaited.

    Iterate with ``async for``. Listeners may be coroutine functions. They are called on the running loop, and the next
    batch of events is read when they have returned.

    On a queue of Bull, BullMQ's predecessor, iteration, `run` and `wait_until_ready` raise `LegacyQueueError`. `on`,
    which cannot wait, emits it as ``error``, and it is logged.
    """

    _new_listeners = LoopListeners
    _task: asyncio.Task[None] | None = None

    def iterate(self, timeout: Duration | None = None) -> Events:
        """Iterate over events; see `bullrush.QueueEvents.iterate`.

        Args:
            timeout: the longest wait for an event, in ms; None waits without limit.
        """
        return Events(self, timeout)

    def __aiter__(self) -> Events:
        return self.iterate()

    async def run(self) -> None:
        """Call listeners until this object is closed. With ``autorun`` a task of the running loop does this.

        Raises:
            RuntimeError: it runs already.
            LegacyQueueError: the queue belongs to Bull, BullMQ's predecessor.
        """
        self._begin()
        await self._call_listeners(self.iterate())

    def _autostart(self) -> None:
        if self._autorun and self._made_listeners is not None and not self.is_running():
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                # There is no loop yet: `wait_until_ready` or ``async with`` starts it later.
                return
            self._begin()
            self._task = loop.create_task(self._run_in_background(self.iterate()))

    async def _run_in_background(self, events: Events) -> None:
        try:
            await self._call_listeners(events)
        except REFUSALS as error:
            self._report_error(error)

    async def _call_listeners(self, events: Events) -> None:
        listeners = cast("LoopListeners", self._listeners)
        try:
            while not self._closing:
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    return
                except REFUSALS:
                    raise
                except BullrushError as error:
                    self._report_error(error)
                    continue
                self._emit_event(event)
                if events.needs_more:
                    await listeners.wait_for_coroutines()
        finally:
            self._end(events)

    async def __aenter__(self) -> Self:
        self._autostart()
        return self
