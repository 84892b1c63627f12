"""What there is to move: counts, jobs that cannot be moved, and the history."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from bullrush.extending import now_ms, read_number, reply
from bullrush.legacy.convert import DROPPED, FIELDS, Difference, Rules, convert, differences
from bullrush.legacy.migrating.moved import BATCH, TAKEN
from bullrush.legacy.migrating.schedulers import PENDING
from bullrush.legacy.report import Remark
from bullrush.legacy.wrong_types import WrongType, read_keys

if TYPE_CHECKING:
    from bullrush.extending import CoreQueue


class NewId(NamedTuple):
    """The id that a job would get.

    Attributes:
        id: the id; None if the job could not move.
        is_taken: another job has the id that it would get first.
    """

    id: str | None
    is_taken: bool


#: Returns the ids that jobs would get.
NewIdsOf: TypeAlias = Callable[[list[str]], Awaitable[list[NewId]]]

_FIELDS: Final = (*FIELDS, *DROPPED)
_LOCKED: Final = (
    "a worker of Bull runs it: run again when it has finished, or, if that worker has died and all others are stopped, "
    "with legacy_workers_stopped"
)
_UNLOCKED: Final = (
    "it is active without a lock: its worker has died, or is about to lock it. When all workers of Bull are stopped, "
    "run again with legacy_workers_stopped"
)
_GONE: Final = "there is no job under this id: a move removes the id"
_CLAIMED: Final = (
    "a migrator has claimed it and has not finished: run again, or give it back to Bull by LegacyQueue.give_back"
)
#: Keys of Bull that have nothing to become.
_KEYS: Final = {
    "limiter": "the rate limit of Bull was not moved: in BullMQ it is an option of workers, Worker(limiter=...)"
}


@dataclass
class Surveyed:
    """What a migration would do with the jobs of a list, or with the delayed ones.

    Attributes:
        count: how many could be moved.
        renamed: how many of them get another id.
        taken: how many jobs have an id that another job has.
        left: the others.
        notes: what is special about those that could.
        differences: how many of them behave otherwise afterwards.
    """

    count: int = 0
    renamed: int = 0
    taken: int = 0
    left: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)
    differences: Counter[Difference] = field(default_factory=Counter)


class Survey:
    """Reads a queue of Bull without writing anything.

    Args:
        core: the queue of Bull.
        source: its prefix and name.
    """

    def __init__(self, core: CoreQueue, source: str) -> None:
        self._core, self._source = core, source

    async def active(self) -> list[Remark]:
        """Return the active jobs, and why they are left."""
        ids = await self._ids("active", 0, -1)
        locks = await self._read([["EXISTS", f"{self._source}:{id}:lock"] for id in ids])
        return [Remark(id, "active", _LOCKED if locked else _UNLOCKED) for id, locked in zip(ids, locks, strict=True)]

    async def claimed(self) -> list[Remark]:
        """Return the jobs that a migrator has claimed."""
        [ids] = await self._read([["HKEYS", f"{self._source}:ext:claim"]])
        return [Remark(id.decode(errors="replace"), "ext:claim", _CLAIMED) for id in ids]

    async def reasons(self, ids: Sequence[bytes], usual: str, new_ids_of: NewIdsOf) -> list[str]:
        """Return why waiting or delayed jobs are left: the usual reason, an id that is taken, or that there is no job.

        Args:
            ids: the ids of the jobs.
            usual: the usual reason.
            new_ids_of: see `remarks`.
        """
        base = f"{self._source}:".encode()
        types = await self._read([["TYPE", base + id] for id in ids])
        new_ids = await new_ids_of([id.decode(errors="replace") for id in ids])
        return [_reason(type, new.id) or usual for type, new in zip(types, new_ids, strict=True)]

    async def keys(self) -> list[Remark]:
        """Return keys that are not moved."""
        found = await self._read([["EXISTS", f"{self._source}:{key}"] for key in _KEYS])
        return [Remark(key, "", reason) for (key, reason), there in zip(_KEYS.items(), found, strict=True) if there]

    async def last_id(self) -> int | str:
        """Return the counter of the queue, "" without one."""
        [stored] = await self._read([["GET", f"{self._source}:id"]])
        return "" if (number := read_number(stored)) is None else number

    async def newest(self, place: str, count: int) -> list[str]:
        """Return the ids of the newest finished jobs, the oldest of them first.

        Bull 1 and 2 store no time of the end: there it is the time at which a job was added.
        """
        if count <= 0:
            return []
        key = f"{self._source}:{place}"
        [kind] = await self._read([["TYPE", key]])
        if kind == b"zset":
            return await self._ids(place, -count, -1, "ZRANGE")
        newest: list[tuple[int, str]] = []
        cursor: bytes | int = 0
        while kind == b"set":
            [[cursor, page]] = await self._read([["SSCAN", key, cursor, "COUNT", 500]])
            ids = [id.decode(errors="replace") for id in page]
            times = await read_keys(self._core, [["HGET", f"{self._source}:{id}", "timestamp"] for id in ids])
            found = (
                (0 if isinstance(time, WrongType) else read_number(time) or 0, id)
                for time, id in zip(times, ids, strict=True)
            )
            newest = heapq.nlargest(count, {*newest, *found})
            if int(cursor) == 0:
                break
        return [id for _, id in reversed(newest)]

    async def remarks(
        self,
        place: str,
        rules: Rules,
        new_ids_of: NewIdsOf,
        repeated: Collection[int],
    ) -> Surveyed:
        """Look at the jobs of a list, or at the delayed ones, as a migration would.

        Args:
            place: the name of the list or set.
            rules: how jobs are converted.
            new_ids_of: returns the ids that jobs would get.
            repeated: when repeatables run next, ms: their pending jobs do not count.
        """
        found, at = Surveyed(), 0
        while ids := await self._ids(place, at, at + BATCH - 1, "ZRANGE" if place == "delayed" else "LRANGE"):
            at += BATCH
            ids = [id for id in ids if not _is_pending(id, repeated)]
            hashes = await read_keys(self._core, [["HMGET", f"{self._source}:{id}", *_FIELDS] for id in ids])
            there = await self._read([["EXISTS", f"{self._source}:{id}"] for id in ids])
            for id, new, values, exists in zip(ids, await new_ids_of(ids), hashes, there, strict=True):
                if isinstance(values, WrongType):
                    found.left.append(Remark(id, place, str(values)))
                    continue
                if not exists:
                    found.notes.append(Remark(id, place, _GONE))
                    continue
                found.taken += new.is_taken
                if new.id is None:
                    found.left.append(Remark(id, place, TAKEN))
                    continue
                found.count += 1
                found.renamed += new.id != id
                raw = {field: value for field, value in zip(_FIELDS, values, strict=True) if value is not None}
                found.notes += [Remark(id, place, note) for note in convert(raw, place, now_ms(), rules).notes]
                found.differences.update(differences(raw, place, rules))
        return found

    async def _ids(self, place: str, start: int, stop: int, command: str = "LRANGE") -> list[str]:
        [found] = await self._read([[command, f"{self._source}:{place}", start, stop]])
        return [id.decode(errors="replace") for id in found]

    async def _read(self, commands: Sequence[Sequence[int | str | bytes]]) -> list[Any]:
        return await reply(self._core.commands(commands)) if commands else []


def _reason(type: bytes, new_id: str | None) -> str:
    """Return why a job with a key of this type cannot move; "" if it can."""
    if type == b"none":
        return _GONE
    if type != b"hash":
        return str(WrongType(type.decode()))
    return TAKEN if new_id is None else ""


def _is_pending(id: str, repeated: Collection[int]) -> bool:
    return id.startswith(PENDING) and read_number(id.rpartition(":")[2]) in repeated
