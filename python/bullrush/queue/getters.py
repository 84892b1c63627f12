"""The calls that read jobs, counts, logs and settings of a queue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Generic, TypedDict

from bullrush.base.handle import Handle
from bullrush.base.operation import operation, reply
from bullrush.errors import InvalidOptionError
from bullrush.job.job import JobT
from bullrush.queue.routing.routes import replies
from bullrush.values import checks
from bullrush.values.encoding import read_number
from bullrush.values.naming import id_of_job, nearest

if TYPE_CHECKING:
    from bullrush._core import CoreQueue

_STATES: Final = ("active", "completed", "delayed", "failed", "paused", "prioritized", "waiting", "waiting-children")
_TYPES: Final = frozenset([*_STATES, "wait", "repeat"])
_UNFINISHED: Final = ("waiting", "paused", "delayed", "prioritized", "waiting-children")


class JobLogs(TypedDict):
    """Rows of a job's log, and how many rows the log has in all."""

    logs: list[str]
    count: int


class GlobalRateLimit(TypedDict):
    """At most ``max`` jobs start per ``duration`` ms, over all workers."""

    max: int
    duration: int


class QueueGetters(Handle, Generic[JobT]):
    """The calls that only read."""

    @operation
    async def get_job(self, job_id: str) -> JobT | None:
        """Return the job with this id, None if there is none.

        Args:
            job_id: the id of the job.
        """
        record = await reply(self.core.get_job(id_of_job(job_id)))
        return None if record is None else self._job(record)

    @operation
    async def get_jobs(
        self, types: str | Iterable[str] | None = None, start: int = 0, end: int = -1, asc: bool = False
    ) -> list[JobT]:
        """Return jobs by state.

        Args:
            types: a state or several: waiting, active, delayed, prioritized, completed, failed, paused,
                waiting-children. None is all states.
            start: the first position, counted from 0 in each state.
            end: the last position; -1 is the end.
            asc: oldest first.

        Returns:
            The jobs of the first state, then those of the next, in the order of ``types``. Jobs that are removed
            meanwhile are left out.
        """
        return await self._jobs(_as_list(types), start, end, asc=asc)

    @operation
    async def get_ranges(
        self, types: str | Iterable[str] | None = None, start: int = 0, end: int = -1, asc: bool = False
    ) -> list[str]:
        """Return the ids of jobs by state; the arguments are those of `get_jobs`.

        Args:
            types: the states.
            start: see `get_jobs`.
            end: see `get_jobs`.
            asc: see `get_jobs`.
        """
        return await reply(self.core.get_ranges(_keys(_checked_states(_as_list(types))), start, end, asc))

    @operation
    async def get_waiting(self, start: int = 0, end: int = -1) -> list[JobT]:
        """Return waiting jobs, the next to run first.

        Args:
            start: the first position, counted from 0.
            end: the last position; -1 is the end.
        """
        return await self._jobs(["waiting"], start, end, asc=True)

    @operation
    async def get_active(self, start: int = 0, end: int = -1) -> list[JobT]:
        """Return active jobs, which workers run, oldest first.

        Args:
            start: the first position, counted from 0.
            end: the last position; -1 is the end.
        """
        return await self._jobs(["active"], start, end, asc=True)

    @operation
    async def get_delayed(self, start: int = 0, end: int = -1) -> list[JobT]:
        """Return delayed jobs, the next due first.

        Args:
            start: the first position, counted from 0.
            end: the last position; -1 is the end.
        """
        return await self._jobs(["delayed"], start, end, asc=True)

    @operation
    async def get_prioritized(self, start: int = 0, end: int = -1) -> list[JobT]:
        """Return prioritized jobs, the next to run first.

        Args:
            start: the first position, counted from 0.
            end: the last position; -1 is the end.
        """
        return await self._jobs(["prioritized"], start, end, asc=True)

    @operation
    async def get_waiting_children(self, start: int = 0, end: int = -1) -> list[JobT]:
        """Return jobs that wait for their children, oldest first.

        Args:
            start: the first position, counted from 0.
            end: the last position; -1 is the end.
        """
        return await self._jobs(["waiting-children"], start, end, asc=True)

    @operation
    async def get_completed(self, start: int = 0, end: int = -1) -> list[JobT]:
        """Return completed jobs, newest first.

        Args:
            start: the first position, counted from 0.
            end: the last position; -1 is the end.
        """
        return await self._jobs(["completed"], start, end, asc=False)

    @operation
    async def get_failed(self, start: int = 0, end: int = -1) -> list[JobT]:
        """Return failed jobs, newest first.

        Args:
            start: the first position, counted from 0.
            end: the last position; -1 is the end.
        """
        return await self._jobs(["failed"], start, end, asc=False)

    @operation
    async def get_job_counts(self, *types: str, routes: bool = False) -> dict[str, int]:
        """Return the number of jobs per state: of the given states, or of all.

        ``waiting`` also adds ``paused`` to the result.

        Args:
            *types: the states; all by default.
            routes: True adds the jobs of all routes of the queue, also of those that have retired.
        """
        counts = await self._counts(types)
        if checks.boolean("routes", routes):
            of_routes = await reply(self.core.count_in_routes(_keys(list(counts))))
            counts = {state: counts[state] + more for state, more in zip(counts, of_routes, strict=True)}
        return counts

    @operation
    async def get_job_count_by_types(self, *types: str) -> int:
        """Return the number of jobs in the given states together.

        Args:
            *types: the states; all by default.
        """
        return sum((await self._counts(types)).values())

    @operation
    async def count(self) -> int:
        """Return the number of unfinished jobs that are not active."""
        return sum((await self._counts(_UNFINISHED)).values())

    @operation
    async def get_waiting_count(self) -> int:
        """Return the number of waiting jobs, in a running or a paused queue."""
        return sum((await self._counts(["waiting"])).values())

    @operation
    async def get_active_count(self) -> int:
        """Return the number of active jobs, which workers run."""
        return (await self._counts(["active"]))["active"]

    @operation
    async def get_delayed_count(self, timestamp: int | None = None) -> int:
        """Return the number of delayed jobs; with ``timestamp`` (ms since 1970) only of those due before it.

        Args:
            timestamp: a time in ms since 1970.
        """
        if timestamp is None:
            return (await self._counts(["delayed"]))["delayed"]
        return await reply(self.core.count_due_before(checks.whole("timestamp", timestamp)))

    @operation
    async def get_prioritized_count(self) -> int:
        """Return the number of waiting jobs with a priority."""
        return (await self._counts(["prioritized"]))["prioritized"]

    @operation
    async def get_waiting_children_count(self) -> int:
        """Return the number of jobs that wait for their children."""
        return (await self._counts(["waiting-children"]))["waiting-children"]

    @operation
    async def get_completed_count(self) -> int:
        """Return the number of completed jobs that are kept."""
        return (await self._counts(["completed"]))["completed"]

    @operation
    async def get_failed_count(self) -> int:
        """Return the number of failed jobs that are kept."""
        return (await self._counts(["failed"]))["failed"]

    @operation
    async def get_job_state(self, job_id: str) -> str:
        """Return the state of a job; see `Job.get_state`.

        Args:
            job_id: the id of the job.
        """
        return await reply(self.core.get_state(id_of_job(job_id)))

    @operation
    async def get_job_logs(self, job_id: str, start: int = 0, end: int = -1, asc: bool = True) -> JobLogs:
        """Return rows of a job's log, oldest first, or newest first with ``asc=False``.

        Args:
            job_id: the id of the job.
            start: the first position, counted from 0.
            end: the last position; -1 is the end.
            asc: False begins with the newest row, and counts positions from there.
        """
        logs, count = await reply(self.core.get_job_logs(id_of_job(job_id), start, end, asc))
        return {"logs": logs, "count": count}

    @operation
    async def is_paused(self) -> bool:
        """Return whether the queue is paused."""
        return await reply(self.core.is_paused())

    @operation
    async def is_maxed(self) -> bool:
        """Return whether the number of active jobs has reached the global concurrency."""
        concurrency = read_number((await reply(self.core.get_meta())).get("concurrency"))
        return concurrency is not None and (await self._counts(["active"]))["active"] >= concurrency

    @operation
    async def get_meta(self) -> dict[str, str]:
        """Return the queue's settings: its hash ``meta`` in Redis."""
        return await reply(self.core.get_meta())

    @operation
    async def get_version(self) -> str | None:
        """Return library and version of the client that last wrote the queue's settings, such as ``bullmq:5.62.0``."""
        return (await reply(self.core.get_meta())).get("version")

    @operation
    async def get_global_concurrency(self) -> int | None:
        """Return the global concurrency: how many jobs may be active over all workers. None is no limit."""
        return read_number((await reply(self.core.get_meta())).get("concurrency"))

    @operation
    async def get_global_rate_limit(self) -> GlobalRateLimit | None:
        """Return the global rate limit over all workers, None if there is none."""
        meta = await reply(self.core.get_meta())
        most, duration = read_number(meta.get("max")), read_number(meta.get("duration"))
        return None if most is None or duration is None else {"max": most, "duration": duration}

    async def _counts(self, types: Sequence[str]) -> dict[str, int]:
        (counts,) = await counts_of([self.core], types)
        return counts

    async def _jobs(self, types: Sequence[str], start: int, end: int, *, asc: bool) -> list[JobT]:
        records = await reply(self.core.get_jobs(_keys(_checked_states(types)), start, end, asc))
        return [self._job(record) for record in records if record is not None]


async def counts_of(cores: Iterable[CoreQueue], types: Sequence[str] = ()) -> list[dict[str, int]]:
    """Return the number of jobs in each state for several queues, which are asked at the same time."""
    states = _checked_states(types)
    found = await replies([core.get_counts(_keys(states)) for core in cores])
    return [dict(zip(states, counts, strict=True)) for counts in found]


def _as_list(types: str | Iterable[str] | None) -> list[str]:
    return [types] if isinstance(types, str) else list(types or ())


def _checked_states(types: Sequence[str]) -> list[str]:
    """Return each state once, checked.

    Waiting jobs of a paused queue are in a list of their own, so ``waiting`` adds ``paused``.
    """
    asked = list(dict.fromkeys(types or _STATES))
    for name in asked:
        if name not in _TYPES:
            raise InvalidOptionError(f"There is no job state {name!r}.{nearest(name, _TYPES)}")
    if "waiting" in asked and "paused" not in asked:
        asked.append("paused")
    return asked


def _keys(types: Sequence[str]) -> list[str]:
    return ["wait" if name == "waiting" else name for name in types]
