"""Changes of many jobs: first they are noted as they are, then those are changed that are still so."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bullrush.aio import Queue
from bullrush.dashboard.refusal import RefusalError, refusal_of
from bullrush.dashboard.rights import Action
from bullrush.errors import BullrushError, ConnectionLostError, OutcomeUnknownError, ResultCodeError
from bullrush.extending import SeenJob, Verb, change_seen, has_moved, run_async

#: The states in which jobs can be changed so. A job that runs is never meant.
STATES: Final[dict[Verb, tuple[str, ...]]] = {
    "retry": ("failed", "completed"),
    "promote": ("delayed",),
    "remove": ("waiting", "prioritized", "delayed", "waiting-children", "failed", "completed"),
}
#: The right that each needs.
RIGHTS: Final[dict[Verb, Action]] = {"retry": "run", "promote": "run", "remove": "remove"}
#: More jobs are not noted for one change, and for all that somebody has asked for: they are held in memory.
MOST: Final = 200_000
_MOST_IN_ALL: Final = 500_000
#: Older changes are forgotten.
_MOST_BULKS: Final = 100
#: So many jobs are changed at the same time.
_PART: Final = 200
#: So many jobs that Redis refused to change are named.
NAMED: Final = 10
#: Seconds that the answer to a button waits for the end: most changes are done by then.
_PATIENCE: Final = 2.0


@dataclass
class Bulk:
    """A change of many jobs, from its preview to its end. Times are in ms since 1970.

    Attributes:
        whose: who has asked for it.
        queue: the name of the queue.
        verb: what is done.
        state: the state in which the jobs were.
        filter: what was filtered by.
        jobs: the jobs as they were seen; emptied when they are done.
        looked_at: how many jobs were looked at.
        total: how many there were in the state.
        command: the ``bullrush`` command that does the same.
        id: its name in the address.
        count: how many jobs were seen.
        made: when they were seen.
        done: how many were changed.
        meanwhile: how many had moved meanwhile, and were left as they were.
        refused: how many were not changed for another reason.
        reasons: why some of those that were not changed were not.
        begun: when it began.
        ended: when it ended.
        trouble: why it ended before its end.
    """

    whose: str
    queue: str
    verb: Verb
    state: str
    filter: dict[str, str]
    jobs: Sequence[SeenJob]
    looked_at: int
    total: int
    command: str
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    count: int = field(init=False)
    made: int = field(default_factory=lambda: _now())
    done: int = 0
    meanwhile: int = 0
    refused: int = 0
    reasons: list[str] = field(default_factory=list)
    begun: int | None = None
    ended: int | None = None
    trouble: str | None = None

    def __post_init__(self) -> None:
        self.count = len(self.jobs)

    async def run(self, queue: Queue) -> None:
        """Change the jobs, part after part.

        Args:
            queue: their queue.
        """
        try:
            for first in range(0, self.count, _PART):
                await self._change(queue, self.jobs[first : first + _PART])
        except BullrushError as error:
            self.trouble = _cause(error)
        except asyncio.CancelledError:
            self.trouble = "The dashboard was stopped."
            raise
        finally:
            self.ended, self.jobs = _now(), ()

    async def _change(self, queue: Queue, part: Sequence[SeenJob]) -> None:
        lost: BullrushError | None = None
        outcomes = await run_async(change_seen(queue.core, self.verb, self.state, part))
        for job, outcome in zip(part, outcomes, strict=True):
            if outcome is None:
                self.done += 1
                continue
            if has_moved(outcome):
                self.meanwhile += 1
            elif isinstance(outcome, ResultCodeError):
                self.refused += 1
            else:
                lost = outcome
                continue
            if len(self.reasons) < NAMED:
                self.reasons.append(f"{job.id}: {refusal_of(outcome).sentence}")
        if lost is not None:
            raise lost

    def counts(self) -> dict[str, int]:
        """Return how many jobs were seen, how many were changed, and how many were not."""
        return {"seen": self.count, "done": self.done, "meanwhile": self.meanwhile, "refused": self.refused}

    def content(self) -> dict[str, Any]:
        """Return what stands in a page."""
        left = ("whose", "jobs")
        return {name: value for name, value in vars(self).items() if name not in left}


def _cause(error: BullrushError) -> str:
    """Return why a change of many jobs has ended: of one, nothing was changed then, but here some jobs were."""
    if isinstance(error, ConnectionLostError):
        return "Redis does not answer."
    if isinstance(error, OutcomeUnknownError):
        return "Redis has not answered: some more jobs may be changed than are counted."
    return refusal_of(error).sentence


class Bulks:
    """The changes that somebody has asked for, each for who has asked. They are in this process alone."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Bulk] = OrderedDict()
        self._running: set[asyncio.Task[None]] = set()

    def keep(self, bulk: Bulk) -> None:
        """Remember what would be changed. What is older and does not run is forgotten if there is too much."""
        self._kept[bulk.id] = bulk
        for id, one in list(self._kept.items())[:-1]:
            held = sum(len(kept.jobs) for kept in self._kept.values())
            is_idle = one.begun is None or one.ended is not None
            if is_idle and (held > _MOST_IN_ALL or len(self._kept) > _MOST_BULKS):
                del self._kept[id]

    def of(self, viewer: str, queue: str, id: str) -> Bulk:
        """Return what this viewer has asked for.

        Raises:
            RefusalError: there is no such change.
        """
        found = self._kept.get(id)
        if found is None or (found.whose, found.queue) != (viewer, queue):
            raise RefusalError(409, "This preview is not known any more: make it again.")
        return found

    async def start(self, bulk: Bulk, queue: Queue, at_end: Callable[[], None]) -> None:
        """Begin a change, and wait a little for its end. It goes on when nobody waits any more.

        Args:
            bulk: the change.
            queue: a handle of its queue, which is closed at the end.
            at_end: called when it has ended, also if that was before its end.

        Raises:
            RefusalError: it has begun already.
        """
        if bulk.begun is not None:
            raise RefusalError(409, "This was begun already: its page says how far it is.")
        bulk.begun = _now()
        task = asyncio.create_task(_run(bulk, queue))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        task.add_done_callback(lambda _: at_end())
        await asyncio.wait([task], timeout=_PATIENCE)


async def _run(bulk: Bulk, queue: Queue) -> None:
    async with queue:
        await bulk.run(queue)


def _now() -> int:
    return int(time.time() * 1_000)
