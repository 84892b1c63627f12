"""Telling those who listen to ``error`` that there is no connection."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

from bullrush._core import ConnectionWatch
from bullrush.base.at_exit import close_at_exit, closed
from bullrush.base.handle import Connected
from bullrush.base.operation import Blocking, awaited, reply, wait
from bullrush.errors import ConnectionLostError


class TellsOutages(Connected):
    """Tells its listeners of ``error`` of each outage, also when nobody calls anything just then.

    Who has no such listener follows nothing. The first one starts a thread, or a task of the running loop, until `close`.
    """

    _watch: tuple[int, ConnectionWatch] | None = None
    _task: asyncio.Task[None]

    def _listen(self, event: str, listener: Any, *, once: bool) -> Any:
        listening = super()._listen(event, listener, once=once)
        if event == "error" and listener is not None and not self._closing:
            self._watch_connection()
        return listening

    def _watch_connection(self) -> None:
        if self._watch is not None and self._watch[0] == os.getpid():
            return
        loop = None
        if not isinstance(self, Blocking):
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                return
        watch = ConnectionWatch(self._url)
        steps = self._tell_outages(watch)
        if loop is None:
            threading.Thread(target=wait, args=(steps,), name="bullrush-errors", daemon=False).start()
        else:
            self._task = loop.create_task(awaited(steps))
        # Only now: where no thread can be started, the next listener tries again.
        self._watch = os.getpid(), watch
        close_at_exit(self)

    async def _tell_outages(self, watch: ConnectionWatch) -> None:
        while not self._closing:
            try:
                await reply(watch.next())
            except ConnectionLostError as error:
                self.emit("error", error)
            else:
                return

    def _give_up(self) -> None:
        super()._give_up()
        self.close_at_exit()
        closed(self)

    def close_at_exit(self) -> None:
        """Let the thread in the background end."""
        if self._watch is not None:
            self._watch[1].close()
