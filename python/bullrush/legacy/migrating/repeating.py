"""Moves repeatables of Bull, with their pending jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bullrush.extending import now_ms, read_number, reply
from bullrush.legacy.convert import Rules
from bullrush.legacy.migrating.schedulers import PENDING, as_scheduler, has_times, owner, scheduler_id, zone_notes
from bullrush.legacy.repeatable import Repeatable, read_repeatable
from bullrush.legacy.wrong_types import WrongType, read_keys

if TYPE_CHECKING:
    from bullrush.extending import CoreQueue

#: Bull keeps a repeatable that has reached its end. A scheduler made of it would run again, with data nobody gave.
_ENDED: Final = (
    "it has no next job: it has reached its limit or its end, or that job was removed. Add it as a job scheduler if it "
    "is still wanted, and remove it here, by LegacyQueue.remove_repeatable(key)"
)
_UNREADABLE: Final = "its key cannot be read: add it again as a job scheduler, and remove it here"


class Repeating:
    """Moves repeatables: in the same slot by one script (`lua/legacy/move_repeatable.lua`).

    Otherwise the other queue gets the scheduler first (`receive_repeatable.lua`), then the repeatable goes
    (`drop_repeatable.lua`). If a worker of Bull starts its job just between the two, this one time runs on both sides.

    Args:
        core: the queue of Bull.
        source: its prefix and name.
        other: prefix and name of the other queue.
        rules: how jobs are converted.
        target: the other queue if it is not in the same slot.
    """

    def __init__(
        self,
        core: CoreQueue,
        source: str,
        other: tuple[str, str],
        rules: Rules,
        target: CoreQueue | None = None,
    ) -> None:
        self._core, self._source, self._other, self._rules = core, source, other, rules
        self._target = target
        self._known: list[Repeatable] = []

    async def read(self) -> list[Repeatable]:
        """Return the repeatables that there are."""
        [found] = await reply(self._core.commands([["ZRANGE", f"{self._source}:repeat", 0, -1, "WITHSCORES"]]))
        pairs = zip(found[::2], found[1::2], strict=True)
        return [read_repeatable(key.decode(errors="replace"), read_number(score) or 0) for key, score in pairs]

    async def move_pending(self, place: str, id: str) -> tuple[Repeatable, tuple[str, ...]] | None:
        """Move the repeatable whose pending job this is.

        Args:
            place: the list or set that has the job.
            id: the id of the job.

        Returns:
            The repeatable and what is special about it; None if the job is of no repeatable, or is not there any more.
        """
        raw = await self._read_job(id)
        repeatable = owner(id, raw, self._known)
        if repeatable is None:
            self._known = await self.read()
            repeatable = owner(id, raw, self._known)
        if repeatable is None:
            return None
        self._known.remove(repeatable)
        notes = await self._move(repeatable, place, id, raw)
        return None if notes is None else (repeatable, notes)

    async def scheduled(self) -> list[Repeatable]:
        """Return the repeatables that the other queue has as job schedulers: somebody has added them again here."""
        known = await self.read()
        key = ":".join((*self._other, "repeat"))
        commands = [["ZSCORE", key, scheduler_id(self._source, one)] for one in known]
        scores = await reply((self._target or self._core).commands(commands)) if commands else []
        return [one for one, score in zip(known, scores, strict=True) if score is not None]

    async def absorb(self, scheduled: Sequence[Repeatable], place: str, id: str) -> Repeatable | None:
        """Remove a repeatable that the other queue has as a job scheduler, with its pending job; that gets its options.

        Args:
            scheduled: what `scheduled` has returned.
            place: the list or set that has the job.
            id: the id of the job.

        Returns:
            The repeatable whose job this is; None if it is of none of these.
        """
        if not any(id.endswith(f":{one.next}") for one in scheduled):
            return None
        raw = await self._read_job(id)
        repeatable = owner(id, raw, scheduled)
        if repeatable is not None:
            await self._move(repeatable, place, id, raw)
        return repeatable

    async def _read_job(self, id: str) -> dict[str, bytes]:
        """Return those fields of a job that a scheduler needs; none if its key is no hash."""
        [values] = await read_keys(self._core, [["HMGET", f"{self._source}:{id}", *_FIELDS]])
        if isinstance(values, WrongType):
            return {}
        return {field: value for field, value in zip(_FIELDS, values, strict=True) if value is not None}

    async def rehearse(self) -> tuple[list[tuple[Repeatable, tuple[str, ...]]], dict[str, str]]:
        """Return the repeatables that would become schedulers, with notes; and those that would be left, with why."""
        noted, left = [], {}
        for one in await self.read():
            if not has_times(one):
                left[one.key] = _UNREADABLE
            else:
                noted.append((one, zone_notes(one, await self._delayed_job(one), await self._rules_for(one))))
        return noted, left

    async def _delayed_job(self, repeatable: Repeatable) -> dict[str, bytes] | None:
        """Return the fields of the pending job of a repeatable, None if it is not delayed."""
        first = repeatable.next * 4096
        search: list[int | str | bytes] = ["ZRANGEBYSCORE", f"{self._source}:delayed", first, first + 4095]
        [ids] = await reply(self._core.commands([search]))
        for id in (found.decode(errors="replace") for found in ids):
            if id.startswith(PENDING) and owner(id, raw := await self._read_job(id), [repeatable]):
                return raw
        return None

    async def left(self, active: Sequence[str]) -> dict[str, str]:
        """Return the keys of the repeatables that have no job to move, with the reason.

        Args:
            active: ids of active jobs; the repeatable of such a job gets its next one at this moment.
        """
        return {one.key: await self._why_left(one, active) for one in await self.read()}

    async def _why_left(self, one: Repeatable, active: Sequence[str]) -> str:
        if any(id.startswith(PENDING) and id.endswith(f":{one.next}") for id in active):
            return "a worker runs its job: run again"
        if not has_times(one):
            return _UNREADABLE
        return _ENDED if await self._delayed_job(one) is None else "it has changed: run again"

    async def _rules_for(self, repeatable: Repeatable) -> Rules:
        """Return the rules, with the time zone of the scheduler that a repeatable has become in an earlier run."""
        if self._rules.tz is not None or repeatable.every:
            return self._rules
        key = ":".join((*self._other, "repeat", scheduler_id(self._source, repeatable)))
        [zone] = await reply((self._target or self._core).commands([["HGET", key, "tz"]]))
        return self._rules if zone is None else self._rules._replace(tz=zone.decode(errors="replace"))

    async def _move(
        self, repeatable: Repeatable, place: str, pending_id: str, raw: dict[str, bytes]
    ) -> tuple[str, ...] | None:
        """Return what is special about a repeatable that was moved; None if it was not."""
        if not has_times(repeatable):
            return None
        now = now_ms()
        rules = await self._rules_for(repeatable)
        scheduler = as_scheduler(scheduler_id(self._source, repeatable), repeatable, raw, now, rules)
        there: list[int | str | bytes] = [
            repeatable.key,
            str(repeatable.next),
            place,
            pending_id,
            raw.get("opts", b""),
        ]
        before: list[int | str | bytes] = [now, scheduler.id, scheduler.name]
        after: list[int | str | bytes] = [
            scheduler.opts,
            scheduler.prev_millis,
            scheduler.priority,
            int(scheduler.lifo),
        ]
        for field, value in scheduler.fields.items():
            after += (field, value)
        if self._target is None:
            call = [*there, *before, *after]
            [answer] = await reply(self._core.legacy_calls("move_repeatable", [call], self._other))
            return scheduler.notes if answer else None
        [data] = await reply(self._core.commands([["HGET", f"{self._source}:{pending_id}", "data"]]))
        template = [] if data in (None, _NO_DATA) else ["data", data]
        call = [str(repeatable.next), *before, data or _NO_DATA, *after, *template]
        await reply(self._target.legacy_calls("receive_repeatable", [call]))
        [answer] = await reply(self._core.legacy_calls("drop_repeatable", [there]))
        return scheduler.notes if answer else None


_FIELDS: Final = ("name", "opts", "timestamp", "priority", "attempts")
_NO_DATA: Final = b"{}"
