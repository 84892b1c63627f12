"""Where the queues are, and what is asked for seldom since it is dear."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final, Generic, TypeVar

from bullrush.aio import Queue
from bullrush.dashboard.history import Memory, Rates
from bullrush.dashboard.searches import Searches
from bullrush.doctor import Costs, Doctor, Report
from bullrush.errors import BullrushError, RedisServerError
from bullrush.extending import QueueScan, run_async
from bullrush.legacy import LegacyStatus, find_legacy, look_at

T = TypeVar("T")

#: More handles than this are made anew: somebody may ask for any number of queues that do not exist.
_MOST_HANDLES: Final = 2_000
#: Seconds between two looks at what is dear.
LOOK_EVERY: Final = 60.0
#: The same for the rates of all queues: a recorder counts per minute.
_COUNT_EVERY: Final = 10.0
#: A value that is so many times as old is not shown while a new one is on its way.
_TOO_OLD: Final = 2
#: Keys per call of the search: it takes the server about half a millisecond.
_KEYS: Final = 500


@dataclass(frozen=True)
class Names:
    """The queues of the server.

    Attributes:
        queues: their names, in order.
        refused: what Redis said if they cannot be listed.
    """

    queues: tuple[str, ...] = ()
    refused: RedisServerError | None = None


@dataclass(frozen=True)
class _Found(Generic[T]):
    """A value, and when it was asked for."""

    at: float
    value: T


class Seldom(Generic[T]):
    """A value that is asked for at most once in a while, however many pages show it.

    An old value is shown while a new one is on its way, so no page waits but the first, and the first after a while in
    which nobody has looked.
    """

    def __init__(self, ask: Callable[[], Awaitable[T]], every: float) -> None:
        self._ask, self._every = ask, every
        self._found: _Found[T] | None = None
        self._lock = asyncio.Lock()
        self._renewal: asyncio.Task[None] | None = None

    async def value(self) -> T:
        """Return the value."""
        found = self._younger_than(_TOO_OLD * self._every)
        if found is None:
            async with self._lock:
                found = self._younger_than(_TOO_OLD * self._every) or await self._renew()
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
        self._found = _Found(time.monotonic(), await self._ask())
        return self._found

    async def _renew_quietly(self) -> None:
        try:
            await self._renew()
        except BullrushError:
            return  # the pages say that Redis is away; the next one asks again


@dataclass
class Source:
    """The queues of one server and prefix.

    The handles of `queue` only look: they write no settings, and open queues of Bull, too. All that changes something
    takes one of `queue_to_change`. `memory` is what a recorder has written of these queues, if there is one.
    """

    url: str
    prefix: str
    timeout: int
    memory: Memory | None = None
    names: Seldom[Names] = field(init=False)
    report: Seldom[Report] = field(init=False)
    rates: Seldom[dict[str, Rates]] = field(init=False)
    legacy: Seldom[tuple[LegacyStatus, ...]] = field(init=False)
    searches: Searches = field(default_factory=Searches, init=False)
    _handles: dict[str, Queue] = field(default_factory=dict, init=False)
    #: When nothing has shown that these are queues of Bull.
    _of_bullmq: dict[str, float] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.names = Seldom(self._find, LOOK_EVERY)
        self.report = Seldom(self._examine, LOOK_EVERY)
        self.rates = Seldom(self._ask_rates, _COUNT_EVERY)
        self.legacy = Seldom(self._find_legacy, LOOK_EVERY)

    def queue(self, name: str) -> Queue:
        """Return the handle of a queue, whether it exists or not.

        Raises:
            QueueNameError: no queue can have this name.
        """
        if name not in self._handles:
            if len(self._handles) >= _MOST_HANDLES:
                self._handles.clear()
            self._handles[name] = Queue(
                name,
                url=self.url,
                prefix=self.prefix,
                timeout=self.timeout,
                skip_metas_update=True,
                allow_legacy=True,
            )
        return self._handles[name]

    def queue_to_change(self, name: str) -> Queue:
        """Return a handle by which something is changed. It refuses a queue of Bull before it writes anything.

        It is new each time, since a handle looks only once whose the queue is.
        """
        return Queue(name, url=self.url, prefix=self.prefix, timeout=self.timeout, skip_metas_update=True)

    async def of_bull(self, name: str, *, anew: bool = False) -> LegacyStatus | None:
        """Return what there is of a queue of Bull; None if nothing shows Bull.

        That nothing shows it is believed for a while, unless it is asked `anew`.
        """
        if not anew and time.monotonic() - self._of_bullmq.get(name, -LOOK_EVERY) < LOOK_EVERY:
            return None
        found = await run_async(look_at(name, self.url, self.prefix, self.timeout))
        if found is None:
            if len(self._of_bullmq) >= _MOST_HANDLES:
                self._of_bullmq.clear()
            self._of_bullmq[name] = time.monotonic()
        return found

    @cached_property
    def costs(self) -> Costs:
        """What commands have cost the server, with a connection of its own."""
        return Costs(self.url, self.prefix, self.timeout)

    async def _find(self) -> Names:
        scan = QueueScan(self.url, self.prefix, self.timeout, size=_KEYS)
        found: list[str] = []
        try:
            while not scan.ended:
                found += await run_async(scan.page())
        except RedisServerError as error:
            return Names(tuple(sorted(found)), error)
        return Names(tuple(sorted(found)))

    async def _find_legacy(self) -> tuple[LegacyStatus, ...]:
        names = (await self.names.value()).queues
        find = find_legacy(self.url, self.prefix, self.timeout, names, size=_KEYS, nested=False)
        try:
            return tuple(sorted(await run_async(find), key=lambda status: status.name))
        except RedisServerError:
            return ()  # the page says why the queues cannot be listed

    async def _ask_rates(self) -> dict[str, Rates]:
        return {} if self.memory is None else await self.memory.rates((await self.names.value()).queues)

    async def _examine(self) -> Report:
        names = await self.names.value()
        report = Report()
        if not names.queues:
            return report
        # It blocks, so it has a thread of its own.
        doctor = Doctor(self.url, self.prefix, timeout=self.timeout, roles=("reader",))
        examine = partial(doctor.examine, names.queues if names.refused else (), report=report)
        try:
            return await asyncio.to_thread(examine)
        except RedisServerError as error:
            report.skipped.append(str(error))
            return report
