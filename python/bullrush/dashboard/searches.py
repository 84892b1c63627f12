"""Searches that somebody looks at: each goes on as long as the page asks, all of them within one budget of Redis."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from time import monotonic
from typing import Final, TypeAlias

from bullrush.aio import Queue
from bullrush.errors import BullrushError
from bullrush.inspection import SearchPosition, Where

#: Leaves out jobs that the viewer may not find.
Sift: TypeAlias = Callable[[list[str]], Awaitable[list[str]]]

#: Seconds for which a search goes on after somebody has looked: a page asks again sooner.
_PATIENCE: Final = 5.0
#: A state with so few jobs is searched anew at each look.
_FEW: Final = 1_000
#: A search stops when it has found so many jobs.
MOST_FOUND: Final = 1_000
#: More searches than these are not kept.
_MOST: Final = 50


class Search:
    """A search of one state of a queue.

    Attributes:
        job_ids: what it has found, the newest first.
        looked_at: how many jobs it has looked at.
        total: how many there are with those that it still has to look at.
        too_large: how many jobs it has left out, since their data is too large.
    """

    def __init__(self, queue: Queue, state: str, where: Where, sift: Sift, budget: asyncio.Lock) -> None:
        self._queue, self._state, self._where, self._sift = queue, state, where, sift
        self._budget = budget
        self._beginning = asyncio.Lock()
        self._has_begun = self._was_shown = False
        self._after: SearchPosition | None = None
        self._task: asyncio.Task[None] | None = None
        self._trouble: BullrushError | None = None
        self._looked = 0.0
        self.job_ids: list[str] = []
        self.looked_at: int = 0
        self.total: int = 0
        self.too_large: int = 0

    @property
    def is_full(self) -> bool:
        """Whether it has found so many jobs that it does not look for more."""
        return len(self.job_ids) >= MOST_FOUND

    @property
    def has_ended(self) -> bool:
        """Whether there is nothing more to look at."""
        return self._has_begun and (self._after is None or self.is_full)

    async def look(self, *, anew: bool, goes_on: bool) -> None:
        """Begin, or see to it that the search goes on while somebody looks.

        Args:
            anew: a search that has ended, and whose end somebody has seen, begins anew.
            goes_on: it looks at more than the newest jobs.

        Raises:
            BullrushError: Redis does not answer.
        """
        self._looked = monotonic()
        async with self._beginning:
            if not self._has_begun or (self._was_shown and (anew or self.total <= _FEW)):
                await self._begin()
            self._was_shown = self.has_ended
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble
        if goes_on and not self.has_ended and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._go_on())

    async def _begin(self) -> None:
        self.job_ids, self.too_large, self._after = [], 0, None
        await self._part()
        self._has_begun = True

    async def _go_on(self) -> None:
        try:
            while not self.has_ended and monotonic() - self._looked < _PATIENCE:
                async with self._budget:
                    await self._part()
        except BullrushError as error:
            self._trouble = error  # said to who looks next; then it goes on

    async def _part(self) -> None:
        found = await self._queue.search(self._where, self._state, after=self._after)
        known = set(self.job_ids)
        self.job_ids += await self._sift([job_id for job_id in found.job_ids if job_id not in known])
        self.looked_at, self.total, self._after = found.looked_at, found.total, found.after
        self.too_large += found.too_large


class Searches:
    """The searches that somebody has looked at lately: who asks again goes on with the same one."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Search] = OrderedDict()
        #: One part at a time: together they take no more of Redis than one of them may.
        self._budget = asyncio.Lock()

    def of(self, name: Hashable, queue: Queue, state: str, where: Where, sift: Sift) -> Search:
        """Return the search with this name, a new one if there is none."""
        if name not in self._kept:
            self._kept[name] = Search(queue, state, where, sift, self._budget)
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        self._kept.move_to_end(name)
        return self._kept[name]
