"""The event ``error``: the connection to Redis is lost."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

from bullrush._core import ConnectionWatch
from bullrush.base.at_exit import close_at_exit, forget_at_exit
from bullrush.base.connected import Connected
from bullrush.base.operation import Blocking, reply, run_async, run_blocking
from bullrush.errors import ConnectionLostError


class ReportsOutages(Connected):
    """Emits ``error`` once per outage of the connection, also while no call is made.

    The first listener of ``error`` starts a background thread, or a task of the running loop, which ends with `close`.
    Without such a listener there is none.
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
        watch = ConnectionWatch(self._url, getattr(self, "qualified_name", self._prefix))
        steps = self._report_outages(watch)
        if loop is None:
            threading.Thread(target=run_blocking, args=(steps,), name="bullrush-errors", daemon=False).start()
        else:
            self._task = loop.create_task(run_async(steps))
        # Set last: if no thread can be started, the next listener tries again.
        self._watch = os.getpid(), watch
        close_at_exit(self)

    async def _report_outages(self, watch: ConnectionWatch) -> None:
        while not self._closing:
            try:
                await reply(watch.next())
            except ConnectionLostError as error:
                self.emit("error", error)
            else:
                return

    def _shut_down(self) -> None:
        super()._shut_down()
        self._close_at_exit()
        forget_at_exit(self)

    def _close_at_exit(self) -> None:
        """Let the background thread end."""
        if self._watch is not None:
            self._watch[1].close()
