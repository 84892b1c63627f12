"""One run of a bridge: what moves, round by round."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bullrush.extending import now_ms, reply
from bullrush.legacy.bridging.continuing import continue_repeatable
from bullrush.legacy.migrating.migration import STATE_OF
from bullrush.legacy.migrating.moved import TAKEN, Moved, Mover
from bullrush.legacy.migrating.schedulers import PENDING
from bullrush.legacy.report import BridgeReport, OnProgress, Progress, Remark

if TYPE_CHECKING:
    from bullrush.extending import CoreQueue
    from bullrush.legacy.bridging.mirroring import Mirror
    from bullrush.legacy.bridging.watch import Watch
    from bullrush.legacy.migrating.repeating import Repeating

_log: Final = logging.getLogger("bullrush")

#: How often a busy bridge looks for jobs that have ended, seconds.
_MIRROR_EVERY: Final = 0.1
#: Jobs that had to stay are tried again after so many seconds.
_RETRY_TAKEN: Final = 60.0
#: A report has at most so many remarks: a bridge may run for months.
_MOST_NOTES: Final = 1000
_TAKEN: Final = f"stays: {TAKEN}"
_SCHEDULED: Final = (
    "it is a job scheduler in the other queue already, and a program with Bull has added it again: it was removed, "
    "and the scheduler has its options now"
)


class Bridge:
    """One run of a bridge.

    Args:
        legacy: the queue of Bull.
        base: its prefix and name.
        mover: moves jobs.
        repeating: removes repeatables that the other queue has as job schedulers.
        mirror: mirrors their ends; None if nobody waits for them.
        watch: looks who uses the queue.
        on_progress: is called after every batch.
    """

    def __init__(
        self,
        legacy: CoreQueue,
        base: str,
        mover: Mover,
        *,
        repeating: Repeating,
        mirror: Mirror | None,
        watch: Watch,
        on_progress: OnProgress | None,
    ) -> None:
        self._legacy, self._base, self._mover, self._mirror = legacy, base, mover, mirror
        self._repeating, self._watch = repeating, watch
        self._on_progress = on_progress
        self._repeatables = 0
        #: The keys of the repeatables of which the log has said that they are job schedulers.
        self._absorbed: set[str] = set()
        #: Jobs that had to stay, and when they are tried again.
        self._taken: set[str] = set()
        #: Those of them that the log has named.
        self._named: set[str] = set()
        self._retry_at = time.monotonic() + _RETRY_TAKEN
        self._mirror_at = 0.0
        self._left = 0
        self.report: BridgeReport = BridgeReport()

    async def round(self) -> bool:
        """Move what can be moved now, at most one batch of each state; return whether there was anything to do."""
        if time.monotonic() >= self._retry_at:
            self._taken.clear()
            self._retry_at = time.monotonic() + _RETRY_TAKEN
        waiting, delayed, not_due = await self._read()
        absorbed = await self._absorb([("wait", waiting), ("delayed", delayed + not_due)])
        for place, found in (("wait", waiting), ("delayed", delayed)):
            if ids := [id for id in found if id not in absorbed]:
                for id in ids:
                    if id.startswith(PENDING):
                        await continue_repeatable(self._legacy, self._base, id)
                self.add(await self._mover.move(place, ids))
                self._report_progress(place)
        busy = bool(await self._mirror_some() or waiting or delayed)
        if self._watch.is_due:
            await self.look()
        return busy

    async def is_done(self) -> bool:
        """Return whether nothing is left; asked after a round in which there was nothing to do."""
        return self._left <= len(self._taken) and not await self._owes()

    async def is_paused(self) -> bool:
        """Return whether the queue of Bull is paused."""
        return (await reply(self._legacy.commands([["EXISTS", f"{self._base}:meta-paused"]]))) == [1]

    async def look(self) -> None:
        """Look who uses the queue of Bull, and write it to the report."""
        self.report.use = await self._watch.look(owes=await self._owes())

    async def _owes(self) -> bool:
        return self._mirror is not None and not await self._mirror.is_done()

    async def _absorb(self, places: Sequence[tuple[str, Sequence[str]]]) -> set[str]:
        """Remove repeatables that the other queue has as job schedulers, else each of their times would run twice.

        Returns:
            The ids of their jobs.
        """
        pending = [(place, id) for place, ids in places for id in ids if id.startswith(PENDING)]
        scheduled = await self._repeating.scheduled() if pending and self._repeatables else []
        absorbed = set()
        for place, id in pending if scheduled else ():
            if (repeatable := await self._repeating.absorb(scheduled, place, id)) is None:
                continue
            absorbed.add(id)
            if repeatable.key not in self._absorbed:
                self._absorbed.add(repeatable.key)
                _log.warning("the repeatable %s of queue %s: %s", repeatable.key, self._base, _SCHEDULED)
                self._note([Remark(repeatable.key, "repeat", _SCHEDULED)])
        return absorbed

    async def _read(self) -> tuple[list[str], list[str], list[str]]:
        """Return the waiting jobs to move next, the delayed ones, and those of repeatables that are not due."""
        most = self._mover.size + len(self._taken)
        paused, waiting, waiting_count, delayed, delayed_count, repeatables, held = await reply(
            self._legacy.commands(
                [
                    ["EXISTS", f"{self._base}:meta-paused"],
                    ["LRANGE", f"{self._base}:wait", -most, -1],
                    ["LLEN", f"{self._base}:wait"],
                    ["ZRANGE", f"{self._base}:delayed", 0, most + self._repeatables - 1, "WITHSCORES"],
                    ["ZCARD", f"{self._base}:delayed"],
                    ["ZCARD", f"{self._base}:repeat"],
                    ["LLEN", f"{self._base}:paused"],
                ]
            )
        )
        self._repeatables = repeatables
        self._left = waiting_count + delayed_count + held
        if paused:  # not empty: its jobs move when it is resumed
            return [], [], []
        ready = [id.decode() for id in reversed(waiting)]
        movable = [id for id in ready if id not in self._taken][: self._mover.size]
        # A job of a repeatable moves when it is due: then the next one is scheduled.
        due = {
            id.decode(): float(score) / 4096 <= now_ms() for id, score in zip(delayed[::2], delayed[1::2], strict=True)
        }
        waits = [id for id, is_due in due.items() if id.startswith(PENDING) and not is_due]
        self._left = max(self._left - len(waits), 0)
        postponed = [id for id in due if id not in self._taken and id not in waits][: self._mover.size]
        return movable, postponed, waits

    async def _mirror_some(self) -> int:
        if self._mirror is None or time.monotonic() < self._mirror_at:
            return 0
        mirrored = await self._mirror.step()
        self._mirror_at = time.monotonic() + _MIRROR_EVERY
        self.report.mirrored += mirrored
        return mirrored

    def add(self, moved: Sequence[Moved]) -> None:
        """Write to the report what became of jobs."""
        report = self.report
        for job in moved:
            state = STATE_OF[job.place]
            notes = [Remark(job.id, state, note) for note in job.notes]
            if job.new_id is not None:
                report.moved[state] = report.moved.get(state, 0) + 1
                report.renamed += job.new_id != job.id
                report.taken += job.was_taken
            elif job.reason in ("taken", "no job"):
                self._taken.add(job.id)
                if job.reason == "taken":
                    notes.append(Remark(job.id, state, _TAKEN))
                    self._say_once(job.id)
            self._note(notes)

    def _say_once(self, job_id: str) -> None:
        """Log why a job stays when it is first seen: the report comes only at the end."""
        if job_id not in self._named and len(self._named) < _MOST_NOTES:
            self._named.add(job_id)
            _log.warning("job %s of queue %s %s", job_id, self._base, _TAKEN)

    def _note(self, remarks: Sequence[Remark]) -> None:
        self.report.notes += remarks[: max(_MOST_NOTES - len(self.report.notes), 0)]

    def _report_progress(self, place: str) -> None:
        if self._on_progress is not None:
            moved = sum(self.report.moved.values())
            self._on_progress(Progress(moved, moved + self._left, STATE_OF[place]))
