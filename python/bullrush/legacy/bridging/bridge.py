"""One run of a bridge: what moves, round by round."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from bullrush.base.operation import reply
from bullrush.legacy.migrating.migration import STATE_OF
from bullrush.legacy.migrating.moved import Moved, Mover
from bullrush.legacy.migrating.schedulers import PENDING
from bullrush.legacy.report import BridgeReport, OnProgress, Progress, Remark

if TYPE_CHECKING:
    from bullrush._core import CoreQueue
    from bullrush.legacy.bridging.mirroring import Mirror

#: How often a busy bridge looks for jobs that have ended, seconds.
_MIRROR_EVERY: Final = 0.1
#: Jobs that had to stay are tried again after so many seconds.
_RETRY_TAKEN: Final = 60.0
#: A report has at most so many remarks: a bridge may run for months.
_MOST_NOTES: Final = 1000
_TAKEN: Final = "stays: the other queue has a job with this id"


class Bridge:
    """One run of a bridge.

    Args:
        legacy: the queue of Bull.
        to_key: returns its keys.
        mover: moves jobs.
        mirror: mirrors their ends; None if nobody waits for them.
        on_progress: is called after every batch.
    """

    def __init__(
        self,
        legacy: CoreQueue,
        to_key: Callable[[str], str],
        mover: Mover,
        mirror: Mirror | None,
        on_progress: OnProgress | None,
    ) -> None:
        self._legacy, self._to_key, self._mover, self._mirror = legacy, to_key, mover, mirror
        self._on_progress = on_progress
        self._repeatables = 0
        #: Jobs that had to stay, and when they are tried again.
        self._taken: set[str] = set()
        self._retry_at = time.monotonic() + _RETRY_TAKEN
        self._mirror_at = 0.0
        self._left = 0
        self.report = BridgeReport()

    async def round(self) -> bool:
        """Move what can be moved now, at most one batch of each state; return whether there was anything to do."""
        if time.monotonic() >= self._retry_at:
            self._taken.clear()
            self._retry_at = time.monotonic() + _RETRY_TAKEN
        waiting, delayed = await self._read()
        for place, ids in (("wait", waiting), ("delayed", delayed)):
            if ids:
                self.add(await self._mover.move(place, ids))
                self._report_progress(place)
        return bool(await self._mirror_some() or waiting or delayed)

    async def is_done(self) -> bool:
        """Return whether nothing is left; asked after a round in which there was nothing to do."""
        return self._left == 0 and (self._mirror is None or await self._mirror.is_done())

    async def _read(self) -> tuple[list[str], list[str]]:
        """Return the jobs to move next: waiting ones, the next to run first, and delayed ones."""
        most = self._mover.size + len(self._taken)
        paused, waiting, waiting_count, delayed, delayed_count, repeatables, held = await reply(
            self._legacy.commands(
                [
                    ["EXISTS", self._to_key("meta-paused")],
                    ["LRANGE", self._to_key("wait"), -most, -1],
                    ["LLEN", self._to_key("wait")],
                    ["ZRANGE", self._to_key("delayed"), 0, most + self._repeatables - 1],
                    ["ZCARD", self._to_key("delayed")],
                    ["ZCARD", self._to_key("repeat")],
                    ["LLEN", self._to_key("paused")],
                ]
            )
        )
        self._repeatables = repeatables
        # A paused queue is not empty: its jobs move when it is resumed.
        self._left = waiting_count + delayed_count + held if paused else 0
        if paused:
            return [], []
        ready = [id.decode() for id in reversed(waiting)]
        later = [id.decode() for id in delayed]
        movable = [id for id in ready if id not in self._taken][: self._mover.size]
        # Without its iteration a repeatable job would end: they stay with Bull.
        postponed = [id for id in later if id not in self._taken and not id.startswith(PENDING)][: self._mover.size]
        return movable, postponed

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
            elif job.reason == "taken":
                self._taken.add(job.id)
                notes.append(Remark(job.id, state, _TAKEN))
            report.notes += notes[: max(_MOST_NOTES - len(report.notes), 0)]

    def _report_progress(self, place: str) -> None:
        if self._on_progress is not None:
            moved = sum(self.report.moved.values())
            self._on_progress(Progress(moved, moved + self._left, STATE_OF[place]))
