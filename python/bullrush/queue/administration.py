"""Managing a queue: pausing, limits, and calls on many jobs at once."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from bullrush._core import now_ms
from bullrush.base.operation import operation, reply
from bullrush.errors import InvalidOptionError
from bullrush.job.calls.changes import encode_progress
from bullrush.job.failure import CANCELLED
from bullrush.job.job import JobT
from bullrush.queue.monitoring import QueueMonitoring
from bullrush.queue.orphans import listed_ids, next_candidates
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.encoding import JSON
from bullrush.values.naming import nearest

_DEFAULT_COUNT: Final = 1_000
_CANCEL_LASTS: Final = 60_000


#: What `clean` can remove.
CleanableState: TypeAlias = Literal[
    "completed", "wait", "waiting", "active", "paused", "prioritized", "delayed", "failed"
]
_CLEANABLE: Final = frozenset(get_args(CleanableState))


class QueueAdministration(QueueMonitoring[JobT]):
    """The calls that change a queue or its jobs."""

    @operation
    async def pause(self) -> None:
        """Pause the queue, for all workers: they finish what they have and take no more."""
        await self._pause()

    async def _pause(self) -> None:
        await reply(self.core.pause())
        self.emit("paused")

    @operation
    async def resume(self) -> None:
        """Resume a paused queue."""
        await reply(self.core.resume())
        self.emit("resumed")

    @operation
    async def remove(self, job_id: str, *, remove_children: bool = True) -> int:
        """Remove a job and, by default, its children.

        Returns:
            0 if a worker has it, else 1, also when there was no such job.

        Raises:
            SchedulerJobError: a job scheduler made it.
        """
        removed = await reply(self.core.remove(job_id, remove_children))
        if removed:
            self.emit("removed", job_id)
        return removed

    @operation
    async def cancel_job(self, job_id: str, reason: str | None = None) -> bool:
        """Tell the handler of a running job to stop, whichever of bullrush's workers runs it; see `Worker.cancel_job`.

        That worker hears of it within about a second. Workers of BullMQ do not.

        Args:
            job_id: the job.
            reason: why; the job fails with it.

        Returns:
            False: no worker has the job.

        Redis:
            A hash ``ext:cancel`` of the queue that expires after a minute.
        """
        reason = checks.text("reason", reason or CANCELLED)
        (token,) = await reply(self.core.commands([["GET", self.to_key(f"{job_id}:lock")]]))
        if token is None:
            return False
        key, entry = self.to_key("ext:cancel"), f"{token.decode()} {reason}"
        await reply(self.core.commands([["HSET", key, job_id, entry], ["PEXPIRE", key, _CANCEL_LASTS]]))
        return True

    @operation
    async def retry_jobs(
        self,
        *,
        state: Literal["failed", "completed"] = "failed",
        count: int = _DEFAULT_COUNT,
        timestamp: int | None = None,
    ) -> None:
        """Run all finished jobs of a state once more.

        Args:
            state: which.
            count: how many per script call.
            timestamp: only those that finished up to this time, in ms since 1970; now by default.
        """
        if state not in {"failed", "completed"}:
            raise InvalidOptionError(f"state must be 'failed' or 'completed', not {state!r}")
        until = now_ms() if timestamp is None else checks.whole("timestamp", timestamp)
        await reply(self.core.retry_jobs(state, checks.at_least(1)("count", count), until))

    @operation
    async def promote_jobs(self, *, count: int = _DEFAULT_COUNT) -> None:
        """Make all delayed jobs run now, ``count`` per script call."""
        await reply(self.core.promote_jobs(checks.at_least(1)("count", count)))

    @operation
    async def drain(self, delayed: bool = False) -> None:
        """Remove all waiting jobs, and with ``delayed=True`` the delayed ones, too. Active jobs go on.

        The next job of each job scheduler stays. No events.

        Redis:
            ``manage/drain``, up to 250 jobs per call.
        """
        await reply(self.core.drain(delayed))

    @operation
    async def clean(self, grace: Duration, limit: int, type: CleanableState = "completed") -> list[str]:
        """Remove the jobs of a state that are old enough.

        Args:
            grace: ms for which a job stays: after it finished, or for jobs that wait, after they were last taken or added. Active
                jobs go only if no worker holds them, and a job scheduler's next job never does.
            limit: how many jobs to look at, the oldest first; 0 is all of them.
            type: completed, failed, wait (or waiting), active, paused, prioritized or delayed.

        Returns:
            The ids of the jobs removed.

        Raises:
            InvalidOptionError: there is nothing to clean by that name.
            OutcomeUnknownError: the connection broke; jobs may have been removed.

        Redis:
            ``manage/clean``, up to 250 jobs per call; an event ``cleaned`` after each 10,000 and at the end.
        """
        if type not in _CLEANABLE:
            raise InvalidOptionError(f"There are no {type!r} jobs to clean.{nearest(str(type), _CLEANABLE)}")
        cutoff = now_ms() - checks.milliseconds("grace", grace)
        ids = await reply(self.core.clean(type, cutoff, checks.at_least(0)("limit", limit) or None))
        self.emit("cleaned", ids, "wait" if type == "waiting" else type)
        return ids

    @operation
    async def obliterate(self, *, force: bool = False, count: int = _DEFAULT_COUNT) -> None:
        """Pause the queue and remove it from Redis, with all its jobs.

        Args:
            force: also with active jobs.
            count: how many jobs per script call.

        Raises:
            BullrushError: jobs are active and ``force`` is not set; the queue stays paused.
        """
        most = checks.at_least(1)("count", count)
        await self._pause()
        await reply(self.core.obliterate(force, most))

    @operation
    async def update_job_progress(self, job_id: str, progress: JSON, *, strict: bool = True) -> None:
        """Set a job's progress; see `Job.update_progress`. As in BullMQ, no local event: that is for jobs this object gave out."""
        await reply(self.core.update_progress(job_id, encode_progress(progress, strict=strict)))

    @operation
    async def add_job_log(self, job_id: str, row: str, keep_logs: int | None = None) -> int:
        """Append a row to a job's log, keep the last ``keep_logs`` if given, and return how many rows it has.

        Raises:
            JobNotFoundError: there is no such job.
        """
        return await reply(self.core.add_log(job_id, str(row), keep_logs or None))

    @operation
    async def rate_limit(self, expire_time: Duration) -> None:
        """Let no job start for some ms. It holds for workers with a limiter and for those whose handler raises `RateLimitError`."""
        await reply(self.core.rate_limit(checks.positive_milliseconds("expire_time", expire_time)))

    @operation
    async def remove_rate_limit_key(self) -> int:
        """End a rate limit that is in force, whoever set it; return 1 if there was one, else 0."""
        removed: int = await self._command("DEL", self.to_key("limiter"))
        return removed

    @operation
    async def set_global_concurrency(self, concurrency: int) -> int:
        """Let at most so many jobs be active at a time, over all workers; return 1 if there was no such limit before, else 0."""
        return await reply(self.core.set_global_concurrency(checks.at_least(1)("concurrency", concurrency)))

    @operation
    async def remove_global_concurrency(self) -> int:
        """Let any number of jobs be active; return 1 if there was a limit, else 0."""
        return await reply(self.core.set_global_concurrency(None))

    @operation
    async def set_global_rate_limit(self, max: int, duration: Duration) -> int:
        """Let at most ``max`` jobs start per ``duration`` ms, over all workers; return how many of the two were not set before."""
        most = checks.at_least(1)("max", max)
        return await reply(self.core.set_global_rate_limit((most, checks.positive_milliseconds("duration", duration))))

    @operation
    async def remove_global_rate_limit(self) -> int:
        """Lift the rate limit over all workers; return 2 if there was one, its ``max`` and ``duration``, else 0."""
        return await reply(self.core.set_global_rate_limit(None))

    @operation
    async def trim_events(self, max_length: int) -> int:
        """Shorten the event stream to about ``max_length`` entries and return how many were removed."""
        most = checks.at_least(0)("max_length", max_length)
        removed: int = await self._command("XTRIM", self.to_key("events"), "MAXLEN", "~", most)
        return removed

    @operation
    async def remove_deprecated_priority_key(self) -> int:
        """Delete a key that BullMQ before version 4 kept for priorities; return 1 if there was one, else 0."""
        removed: int = await self._command("DEL", self.to_key("priority"))
        return removed

    @operation
    async def remove_orphaned_jobs(self, count: int = _DEFAULT_COUNT, limit: int = 0) -> int:
        """Remove jobs that no state holds, and what is left of jobs that are gone: nothing can run or find them.

        A parent goes on if it waited for such a job. Keys that are not a job's are not touched.

        Args:
            count: about how many keys to look at per round trip.
            limit: how many jobs to remove at most; 0 is all of them.

        Returns:
            How many were removed.

        Redis:
            SCAN over the whole database, and the ids of all waiting and active jobs are read once; then ``manage/remove_orphaned_jobs``
            for what looks orphaned, which looks again.
        """
        page, most = checks.at_least(1)("count", count), checks.at_least(0)("limit", limit)
        listed = await listed_ids(self)
        removed, cursor = 0, b"0"
        while True:
            cursor, portions = await next_candidates(self, cursor, page, listed)
            for suspects in portions:
                some = suspects[: most - removed] if most else suspects
                removed += await reply(self.core.remove_orphaned_jobs(some))
                if most and removed >= most:
                    return removed
            if cursor == b"0":
                return removed
