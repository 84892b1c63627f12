"""Moves repeatables of Bull, with their pending jobs, to a queue in the same slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bullrush._core import now_ms
from bullrush.base.operation import reply
from bullrush.legacy.convert import Rules
from bullrush.legacy.migrating.schedulers import as_scheduler, owner
from bullrush.legacy.repeatable import Repeatable, read_repeatable

if TYPE_CHECKING:
    from bullrush._core import CoreQueue

_UNREADABLE: Final = "its key cannot be read: add it again as a job scheduler, and remove it here"


class Repeating:
    """Moves repeatables by `lua/legacy/move_repeatable.lua`.

    Args:
        core: the queue of Bull.
        source: its prefix and name.
        other: prefix and name of the other queue.
        rules: how jobs are converted.
    """

    def __init__(self, core: CoreQueue, source: str, other: tuple[str, str], rules: Rules) -> None:
        self._core, self._source, self._other, self._rules = core, source, other, rules

    async def read(self) -> list[Repeatable]:
        """Return the repeatables that there are."""
        [found] = await reply(self._core.commands([["ZRANGE", f"{self._source}:repeat", 0, -1, "WITHSCORES"]]))
        pairs = zip(found[::2], found[1::2], strict=True)
        return [read_repeatable(key.decode(errors="replace"), int(float(score))) for key, score in pairs]

    async def move_pending(self, place: str, id: str) -> tuple[Repeatable, tuple[str, ...]] | None:
        """Move the repeatable whose pending job this is.

        Args:
            place: the list or set that has the job.
            id: the id of the job.

        Returns:
            The repeatable and what is special about it; None if the job is of no repeatable, or is not there any more.
        """
        commands = [["HMGET", f"{self._source}:{id}", *_FIELDS]]
        [values] = await reply(self._core.commands(commands))
        raw = {field: value for field, value in zip(_FIELDS, values, strict=True) if value is not None}
        repeatable = owner(id, raw, await self.read())
        if repeatable is None:
            return None
        notes = await self._move(repeatable, place, id, raw)
        return None if notes is None else (repeatable, notes)

    async def move_rest(self, active: Sequence[str]) -> tuple[list[tuple[Repeatable, tuple[str, ...]]], dict[str, str]]:
        """Move repeatables that have no pending job: somebody has removed it.

        Args:
            active: ids of active jobs; the repeatable of such a job gets its next one at this moment.

        Returns:
            The repeatables that were moved; the keys of those that were not, with the reason.
        """
        moved, left = [], {}
        for one in await self.read():
            if any(id.startswith("repeat:") and id.endswith(f":{one.next}") for id in active):
                left[one.key] = "a worker runs its job: run again"
                continue
            notes = await self._move(one, "delayed", "", None)
            if notes is None:
                left[one.key] = (
                    _UNREADABLE if as_scheduler(one, None, 0, self._rules) is None else "it has changed: run again"
                )
            else:
                moved.append((one, notes))
        return moved, left

    async def _move(
        self, repeatable: Repeatable, place: str, pending_id: str, raw: dict[str, bytes] | None
    ) -> tuple[str, ...] | None:
        """Return what is special about a repeatable that was moved; None if it was not."""
        now = now_ms()
        scheduler = as_scheduler(repeatable, raw, now, self._rules)
        if scheduler is None:
            return None
        seen = b"" if raw is None else raw.get("opts", b"")
        call: list[int | str | bytes] = [now, repeatable.key, str(repeatable.next), place, pending_id, seen]
        call += [scheduler.id, scheduler.name, scheduler.opts, scheduler.prev_millis, scheduler.priority]
        call += [int(scheduler.lifo)]
        for field, value in scheduler.fields.items():
            call += (field, value)
        [answer] = await reply(self._core.legacy_calls("move_repeatable", [call], self._other))
        return scheduler.notes if answer else None


_FIELDS: Final = ("name", "opts", "timestamp", "priority", "attempts")
