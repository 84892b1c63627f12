"""One run of a migration: which jobs move, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from bullrush.extending import reply
from bullrush.legacy.migrating.moved import TAKEN, Moved, Mover
from bullrush.legacy.migrating.schedulers import PENDING
from bullrush.legacy.report import MigrationReport, OnProgress, Progress, Remark

if TYPE_CHECKING:
    from bullrush.extending import CoreQueue
    from bullrush.legacy.migrating.repeating import Repeating

#: The lists and sets of Bull, and the states that users know.
STATE_OF: Final = {
    "wait": "waiting",
    "paused": "paused",
    "delayed": "delayed",
    "active": "active",
    "completed": "completed",
    "failed": "failed",
}
_REASONS: Final = {
    "taken": TAKEN,
    "locked": "a worker of Bull runs it: run again when it has finished",
    "changed": "it changes again and again: run again",
}
_GONE: Final = "there was no job under this id; the id was removed"
#: A job that has changed so often while it was read is left.
_MOST_CHANGES: Final = 20
#: So many jobs are listed for each note.
_LISTED: Final = 100


class Migration:
    """Moves the jobs of a queue of Bull, whatever its producers and workers do meanwhile.

    Args:
        core: the queue of Bull.
        source: its prefix and name.
        mover: moves jobs.
        repeating: moves repeatables.
        report: what is done is written here.
        total: how many jobs there are, an estimate.
        on_progress: is called after every batch.
    """

    def __init__(
        self,
        core: CoreQueue,
        source: str,
        *,
        mover: Mover,
        repeating: Repeating | None,
        report: MigrationReport,
        total: int,
        on_progress: OnProgress | None,
    ) -> None:
        self._core, self._source = core, source
        self._mover, self._repeating = mover, repeating
        self._report, self._on_progress = report, on_progress
        self._total, self._done = total, 0
        self._left: dict[str, set[str]] = {place: set() for place in STATE_OF}
        self._changed: Counter[str] = Counter()
        self._noted: Counter[str] = Counter()

    async def move_waiting(self) -> int:
        """Move the jobs that have not started, in the order in which Bull would run them, until none is left.

        Returns:
            How many were moved.
        """
        begun = self._done
        while True:
            before = self._done
            for place in ("paused", "wait"):
                # The next to run is at the tail.
                await self._empty(place, lambda count: ("LRANGE", -count, -1))
            await self._empty("delayed", lambda count: ("ZRANGE", 0, count - 1))
            if self._done == before:
                return self._done - begun

    async def note_repeatables(self) -> None:
        """Note the repeatables that are left: those with a job to run have moved with it."""
        if self._repeating is None:
            return
        [active] = await self._read([["LRANGE", f"{self._source}:active", 0, -1]])
        left = await self._repeating.left([id.decode(errors="replace") for id in active])
        self._report.left += [Remark(key, "repeat", reason) for key, reason in left.items()]

    async def move_active(self, ids: Sequence[str]) -> None:
        """Move active jobs whose worker is gone, the newest first: each goes to the front, so the oldest runs first."""
        await self._move_all("active", ids)

    async def move_finished(self, place: str, ids: Sequence[str]) -> None:
        """Move jobs of the history."""
        await self._move_all(place, ids)

    async def _move_all(self, place: str, ids: Sequence[str]) -> None:
        for at in range(0, len(ids), self._mover.size):
            await self._move(place, ids[at : at + self._mover.size])

    def add(self, moved: Sequence[Moved]) -> None:
        """Write to the report what became of jobs."""
        for one in moved:
            state = STATE_OF[one.place]
            if one.new_id is not None:
                self._done += 1
                self._report.moved[state] = self._report.moved.get(state, 0) + 1
                self._report.renamed += one.new_id != one.id
                self._report.taken += one.was_taken
                self._note(one.id, state, one.notes)
            elif one.reason == "gone":
                self._done += 1  # the list is shorter
                self._note(one.id, state, [_GONE])
            else:
                self._leave(one, state)
        if moved and self._on_progress is not None:
            self._on_progress(Progress(self._done, max(self._total, self._done), STATE_OF[moved[-1].place]))

    def _leave(self, one: Moved, state: str) -> None:
        if one.reason == "changed":
            self._changed[one.id] += 1
            if self._changed[one.id] < _MOST_CHANGES:
                return
        if one.id not in self._left[one.place]:
            self._left[one.place].add(one.id)
            self._report.taken += one.reason == "taken"
            self._report.left.append(Remark(one.id, state, _REASONS.get(one.reason) or "; ".join(one.notes)))

    async def _empty(self, place: str, window: Any) -> None:
        """Move all jobs of a list, or of the delayed ones."""
        left = self._left[place]
        before: list[str] = []
        while True:
            # Those that were left are read again; the next ones are behind them.
            command, first, last = window(self._mover.size + len(left))
            [found] = await self._read([[command, f"{self._source}:{place}", first, last]])
            ids = [id.decode(errors="replace") for id in (found if command == "ZRANGE" else reversed(found))]
            ids = [id for id in ids if id not in left]
            if not ids:
                return
            if ids == before:
                # Nothing has moved: the script did not find them, or found them changed.
                self.add([Moved(id, place, None, "changed") for id in ids])
            before = ids
            await self._move(place, ids)

    async def _move(self, place: str, ids: Sequence[str]) -> None:
        """Move jobs in this order; the pending job of a repeatable goes with it."""
        batch: list[str] = []
        for id in ids:
            if not id.startswith(PENDING) or self._repeating is None or place in ("completed", "failed"):
                batch.append(id)
                continue
            await self._move_batch(place, batch)
            batch = []
            if (scheduled := await self._repeating.move_pending(place, id)) is None:
                batch.append(id)
            else:
                repeatable, notes = scheduled
                self._done += 1
                self._add_scheduler(repeatable.key, notes)
        await self._move_batch(place, batch)

    async def _move_batch(self, place: str, ids: Sequence[str]) -> None:
        if ids:
            self.add(await self._mover.move(place, ids))

    def _add_scheduler(self, key: str, notes: Sequence[str]) -> None:
        self._report.schedulers += 1
        self._note(key, "repeat", notes)

    def _note(self, id: str, state: str, notes: Sequence[str]) -> None:
        for note in notes:
            self._noted[note] += 1
            if self._noted[note] <= _LISTED:
                self._report.notes.append(Remark(id, state, note))

    def finish(self) -> None:
        """Write to the report what was too much to list."""
        for note, count in self._noted.items():
            if count > _LISTED:
                self._report.notes.append(Remark(f"{count - _LISTED} more", "", note))

    async def _read(self, commands: Sequence[Sequence[int | str | bytes]]) -> list[Any]:
        return await reply(self._core.commands(commands))
