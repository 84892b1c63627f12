"""Values that are asked for seldom since they are dear, however many pages show them."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, TypeVar

from bullrush.aio import Queue
from bullrush.errors import BullrushError

T = TypeVar("T")

#: A value that is so many times as old is not shown while a new one is on its way.
_TOO_OLD: Final = 2
#: The values of more queues than these are not kept.
_MOST: Final = 500


@dataclass(frozen=True)
class _Found(Generic[T]):
    """A value, and when it was asked for."""

    at: float
    value: T


class Seldom(Generic[T]):
    """A value that is asked for at most once in a while.

    An old value is shown while a new one is on its way, so no page waits but the first, and the first after a while in
    which nobody has looked.
    """

    def __init__(self, ask: Callable[[], Awaitable[T]], every: float) -> None:
        self._ask, self._every = ask, every
        self._found: _Found[T] | None = None
        self._lock = asyncio.Lock()
        self._renewal: asyncio.Task[None] | None = None

    async def value(self, unless: Callable[[T], bool] | None = None) -> T:
        """Return the value.

        Args:
            unless: a value of which it says True is asked for anew each time.
        """
        found = self._younger_than(_TOO_OLD * self._every)
        if found is None:
            async with self._lock:
                found = self._younger_than(_TOO_OLD * self._every) or await self._renew()
        elif unless is not None and unless(found.value):
            found = await self._renew()
        elif self._younger_than(self._every) is None:
            self._renew_soon()
        return found.value

    def known(self) -> T | None:
        """Return the value if somebody has asked for it lately, without waiting for a new one; None otherwise."""
        if self._found is not None and self._younger_than(self._every) is None:
            self._renew_soon()
        found = self._younger_than(_TOO_OLD * self._every)
        return None if found is None else found.value

    def _renew_soon(self) -> None:
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.create_task(self._renew_quietly())

    def _younger_than(self, seconds: float) -> _Found[T] | None:
        return self._found if self._found is not None and time.monotonic() - self._found.at < seconds else None

    async def _renew(self) -> _Found[T]:
        self._found = found = _Found(time.monotonic(), await self._ask())
        return found

    async def _renew_quietly(self) -> None:
        try:
            await self._renew()
        except BullrushError:
            return  # the pages say that Redis is away; the next one asks again


class OfQueues(Generic[T]):
    """A value of each queue that is asked for at most once in a while."""

    def __init__(self, ask: Callable[[Queue], Awaitable[T]], every: float) -> None:
        self._ask, self._every = ask, every
        self._kept: OrderedDict[str, Seldom[T]] = OrderedDict()

    async def value(self, queue: Queue, unless: Callable[[T], bool] | None = None) -> T:
        """Return the value of a queue; see `Seldom.value`."""
        kept = self._kept.setdefault(queue.name, Seldom(partial(self._ask, queue), self._every))
        self._kept.move_to_end(queue.name)
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return await kept.value(unless)

    def forget(self, queue: str | None) -> None:
        """Ask anew about a queue; None = about all of them."""
        if queue is None:
            self._kept.clear()
        else:
            self._kept.pop(queue, None)
