"""Awaiting results of the core on an event loop."""

from __future__ import annotations

import asyncio
import itertools
import time
import weakref
from typing import Any, ClassVar, TypeVar

from bullrush import _core

T = TypeVar("T")


async def result_of(pending: _core.Pending[T]) -> T:
    """Await one result of the core."""
    if not pending.done():
        try:
            await _LoopCompletions.of_running_loop().wait(pending)
        except BaseException:
            # Nobody takes the result here: an event or a job in it goes to the next caller.
            pending.abandon()
            raise
    return pending.result()


#: Seconds: about one round trip to a Redis nearby. To sleep and to be woken costs an event loop about the same time
#: again.
_SPIN_SECONDS = 0.0002


class _LoopCompletions:
    """Wakes the coroutines of one event loop: one descriptor for all results it waits for.

    It is a spin wait at first: if the last result came soon and this is the only one waited for, the loop does not
    sleep.
    """

    _by_loop: ClassVar[weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopCompletions]] = (
        weakref.WeakKeyDictionary()
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._completions = _core.Completions()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._tokens = itertools.count()
        self._last_was_quick = False
        self._is_spinning = False
        loop.add_reader(self._completions.fileno(), self._wake)

    @classmethod
    def of_running_loop(cls) -> _LoopCompletions:
        loop = asyncio.get_running_loop()
        if loop not in cls._by_loop:
            cls._by_loop[loop] = cls(loop)
        return cls._by_loop[loop]

    async def wait(self, pending: _core.Pending[Any]) -> None:
        began = time.perf_counter()
        if self._last_was_quick and not self._is_spinning and not self._waiting:
            self._is_spinning = True
            try:
                until = began + _SPIN_SECONDS
                while not pending.done() and time.perf_counter() < until:  # noqa: ASYNC110 - a spin wait
                    await asyncio.sleep(0)
            finally:
                self._is_spinning = False
        if not pending.done():
            await self._finished(pending)
        self._last_was_quick = time.perf_counter() - began < _SPIN_SECONDS

    def _finished(self, pending: _core.Pending[Any]) -> asyncio.Future[None]:
        token = next(self._tokens)
        self._waiting[token] = future = asyncio.get_running_loop().create_future()
        pending.notify(self._completions, token)
        return future

    def _wake(self) -> None:
        for token in self._completions.drain():
            future = self._waiting.pop(token)
            if not future.done():
                future.set_result(None)
