"""The calls that only read a queue of Bull. They take no lock and write nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final, Literal, TypeAlias

from bullrush.errors import InvalidOptionError
from bullrush.extending import check_given_id, checks, nearest, operation, read_number, reply
from bullrush.legacy.flavor import LegacyBase
from bullrush.legacy.job import LegacyJob
from bullrush.legacy.repeatable import Repeatable, read_repeatable
from bullrush.legacy.wrong_types import WrongType, read_keys

#: The states of Bull's jobs.
LegacyState: TypeAlias = Literal["waiting", "paused", "active", "delayed", "completed", "failed"]

#: The states and the names of their keys.
STATES: Final[dict[str, str]] = {
    "waiting": "wait",
    "paused": "paused",
    "active": "active",
    "delayed": "delayed",
    "completed": "completed",
    "failed": "failed",
}
#: States that jobs of BullMQ have, too, where both have used the same keys.
STATES_OF_BOTH: Final[dict[str, str]] = {
    **STATES,
    "prioritized": "prioritized",
    "waiting-children": "waiting-children",
}
_COUNTED_BY: Final = {b"list": "LLEN", b"zset": "ZCARD", b"set": "SCARD"}
_FOUND_BY: Final = {b"list": "LPOS", b"zset": "ZSCORE", b"set": "SISMEMBER"}
#: So many jobs are read in one pipeline, and so many ids by one SSCAN.
_BATCH: Final = 500


class LegacyReading(LegacyBase):
    """The calls that only read."""

    @operation
    async def get_job_counts(self, *states: LegacyState) -> dict[str, int]:
        """Return the number of jobs by state.

        Redis: two round trips.

        Args:
            *states: waiting, paused, active, delayed, completed, failed; all of them by default.
        """
        await self._check_owner()
        return await count_states(self, [_checked(state) for state in states] or STATES)

    @operation
    async def get_job(self, job_id: str) -> LegacyJob | None:
        """Return the job with this id, None if there is none.

        Redis: one round trip.

        Args:
            job_id: the id of the job.
        """
        await self._check_owner()
        return (await read_jobs(self, [check_given_id(job_id)]))[0]

    @operation
    async def get_job_state(self, job_id: str) -> LegacyState | Literal["unknown"]:
        """Return the state of a job: the list or set that has its id; ``unknown`` if none has.

        A job that is claimed by a move, or that has moved, is unknown here.

        Redis: two round trips. A job that changes its state between them may be unknown.

        Args:
            job_id: the id of the job.
        """
        id = check_given_id(job_id)
        await self._check_owner()
        types = await read_all(self, [["TYPE", self.to_key(key)] for key in STATES.values()])
        asked = {
            state: [_FOUND_BY[type], self.to_key(key), id]
            for (state, key), type in zip(STATES.items(), types, strict=True)
            if type in _FOUND_BY
        }
        found = zip(asked.items(), await read_all(self, list(asked.values())), strict=True)
        for (state, [command, *_]), answer in found:
            if answer is not None and not (command == "SISMEMBER" and answer == 0):
                return _checked(state)  # type: ignore[return-value]
        return "unknown"

    @operation
    async def get_jobs(self, state: LegacyState, start: int = 0, end: int = -1) -> list[LegacyJob]:
        """Return the jobs of a state; those that are removed meanwhile are left out, and ids whose keys are no hashes.

        Redis: one round trip for the ids, and one per 500 jobs.

        Args:
            state: waiting, paused, active, delayed, completed or failed.
            start: the first position, counted from 0.
            end: the last position; -1 is the end.

        Returns:
            Waiting and paused jobs: the next to run first. Active ones: oldest first. Delayed ones: the next due first.
                Finished
            ones: newest first; with Bull 1 and 2, which keep them in sets, in no order.
        """
        key = self.to_key(STATES[_checked(state)])
        start, end = checks.whole("start", start), checks.whole("end", end)
        await self._check_owner()
        [type] = await read_all(self, [["TYPE", key]])
        ids = [
            id.decode(errors="replace")
            for id in await self._ids(key, type, start, end, newest_first=state in ("completed", "failed"))
        ]
        jobs = []
        for at in range(0, len(ids), _BATCH):
            jobs += [job for job in await read_jobs(self, ids[at : at + _BATCH]) if job is not None]
        return jobs

    @operation
    async def get_job_logs(self, job_id: str, start: int = 0, end: int = -1) -> list[str]:
        """Return rows of a job's log, oldest first. Bull 1 and 2 keep none.

        Redis: one round trip.

        Args:
            job_id: the id of the job.
            start: the first position, counted from 0.
            end: the last position; -1 is the end.
        """
        start, end = checks.whole("start", start), checks.whole("end", end)
        await self._check_owner()
        [rows] = await read_all(self, [["LRANGE", self.to_key(f"{check_given_id(job_id)}:logs"), start, end]])
        return [row.decode(errors="replace") for row in rows]

    @operation
    async def is_paused(self) -> bool:
        """Return whether the queue is paused, for all workers. Redis: one round trip."""
        await self._check_owner()
        return (await read_all(self, [["EXISTS", self.to_key("meta-paused")]])) == [1]

    @operation
    async def get_repeatables(self) -> list[Repeatable]:
        """Return the repeatable jobs of Bull 3 and 4, the next to run first. Redis: one round trip."""
        await self._check_owner()
        [found] = await read_all(self, [["ZRANGE", self.to_key("repeat"), 0, -1, "WITHSCORES"]])
        return [
            read_repeatable(key.decode(errors="replace"), read_number(score) or 0)
            for key, score in zip(found[::2], found[1::2], strict=True)
        ]

    async def _ids(self, key: str, type: bytes, start: int, end: int, *, newest_first: bool) -> list[bytes]:
        """Return ids of a list, a sorted set or a set."""
        if type == b"list":
            # The next to run is at the tail.
            [ids] = await read_all(self, [["LRANGE", key, -1 - end, -1 - start]])
            return list(reversed(ids))
        if type == b"zset":
            [ids] = await read_all(self, [["ZREVRANGE" if newest_first else "ZRANGE", key, start, end]])
            return list(ids)
        return await self._scan(key, start, end) if type == b"set" else []

    async def _scan(self, key: str, start: int, end: int) -> list[bytes]:
        """Return ids of a set; it is read only as far as needed."""
        ids: dict[bytes, None] = {}  # in the order of the scan, and once each
        cursor: bytes | int = 0
        while True:
            [[cursor, page]] = await read_all(self, [["SSCAN", key, cursor, "COUNT", _BATCH]])
            ids.update(dict.fromkeys(page))
            if int(cursor) == 0 or (start >= 0 and 0 <= end < len(ids)):
                break
        # -1 is the last one, as in Redis.
        first, stop = (at + len(ids) if at < 0 else at for at in (start, end))
        return list(islice(ids, max(first, 0), max(stop + 1, 0)))


def fields_of(found: Sequence[bytes]) -> dict[str, bytes]:
    """Return the reply of HGETALL as a dict."""
    return dict(zip([name.decode(errors="replace") for name in found[::2]], found[1::2], strict=True))


def _checked(state: str) -> str:
    if state not in STATES:
        raise InvalidOptionError(f"{state!r} is not a state of Bull's jobs.{nearest(state, STATES)}")
    return state


async def count_states(queue: LegacyBase, states: Iterable[str]) -> dict[str, int]:
    """Return the number of jobs by state, of a queue of any version."""
    chosen = list(states)
    keys = [queue.to_key(STATES_OF_BOTH[state]) for state in chosen]
    types = await read_all(queue, [["TYPE", key] for key in keys])
    # Keys that do not exist are not asked: they may become lists or sets meanwhile.
    counted = {
        state: [_COUNTED_BY[type], key]
        for state, key, type in zip(chosen, keys, types, strict=True)
        if type in _COUNTED_BY
    }
    counts = dict(zip(counted, await read_all(queue, list(counted.values())), strict=True))
    return {state: counts.get(state, 0) for state in chosen}


async def read_all(queue: LegacyBase, commands: Sequence[Sequence[int | str | bytes]]) -> list[Any]:
    """Return the replies of some commands."""
    return await reply(queue.core.commands(commands)) if commands else []


async def read_jobs(queue: LegacyBase, ids: Iterable[str]) -> list[LegacyJob | None]:
    """Return jobs by id; None for those that do not exist, or are no hashes."""
    ids = list(ids)
    hashes = await read_keys(queue.core, [["HGETALL", queue.to_key(id)] for id in ids])
    return [
        LegacyJob(id, fields_of(found)) if found and not isinstance(found, WrongType) else None
        for id, found in zip(ids, hashes, strict=True)
    ]
