"""Where the queues are, and what is asked for seldom since it is dear."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final

from bullrush.aio import Queue
from bullrush.dashboard.first_looks import FirstLooks
from bullrush.dashboard.history import Memory, Rates
from bullrush.dashboard.searches import Searches
from bullrush.dashboard.seldom import OfQueues, Seldom
from bullrush.doctor import Costs, Doctor, Report
from bullrush.errors import BullrushError, ConnectionLostError, RedisServerError
from bullrush.extending import QueueScan, registered_routes, run_async
from bullrush.inspection import FailureGroup, count_workers
from bullrush.legacy import LegacyStatus, find_legacy, look_at
from bullrush.queue import RouteStatus
from bullrush.routing import route_base

#: More handles than this are made anew: somebody may ask for any number of queues that do not exist.
_MOST_HANDLES: Final = 2_000
#: Seconds between two looks at what is dear.
LOOK_EVERY: Final = 60.0
#: The same for the rates of all queues: a recorder counts per minute.
_COUNT_EVERY: Final = 10.0
#: The same for what failures of a queue have in common.
_GROUP_EVERY: Final = 10.0
#: So many of its failures are looked at.
_NEWEST: Final = 250
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
class Routes:
    """The routes of a queue.

    Attributes:
        names: of those that are registered.
        statuses: what waits in each, and how many workers may take it; nothing of those that another version made.
    """

    names: tuple[str, ...] = ()
    statuses: tuple[RouteStatus, ...] = ()


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
    workers: OfQueues[int | None] = field(init=False)
    routes: OfQueues[Routes] = field(init=False)
    failures: OfQueues[list[FailureGroup]] = field(init=False)
    searches: Searches = field(default_factory=Searches, init=False)
    first_looks: FirstLooks = field(default_factory=FirstLooks, init=False)
    _handles: dict[str, Queue] = field(default_factory=dict, init=False)
    #: When nothing has shown that these are queues of Bull.
    _of_bullmq: dict[str, float] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.names = Seldom(self._find, LOOK_EVERY)
        self.report = Seldom(self._examine, LOOK_EVERY)
        self.rates = Seldom(self._ask_rates, _COUNT_EVERY)
        self.legacy = Seldom(self._find_legacy, LOOK_EVERY)
        self.workers = OfQueues(_count_workers, LOOK_EVERY)
        self.routes = OfQueues(_find_routes, LOOK_EVERY)
        self.failures = OfQueues(lambda queue: queue.failures(_NEWEST), _GROUP_EVERY)

    def forget(self, queue: str | None = None) -> None:
        """Forget what is known of a queue, or of each: what is asked for next is of now."""
        for one in (self.workers, self.routes, self.failures):
            one.forget(queue)

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

        It is new each time, since a handle looks only once whose the queue is. Who takes it closes it.
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


async def _count_workers(queue: Queue) -> int | None:
    found = await run_async(count_workers(queue, [queue.name]))
    return found[queue.name]


async def _find_routes(queue: Queue) -> Routes:
    names = await run_async(registered_routes(queue))
    if not names or route_base(queue.name) is not None:
        return Routes(tuple(names))
    try:
        return Routes(tuple(names), tuple(await queue.route_status()))
    except ConnectionLostError:
        raise
    except BullrushError:
        return Routes(tuple(names))  # what Redis refuses must not hide the page of its jobs
