"""Managing a queue: pausing, deduplication ids, and calls on many jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from bullrush._core import now_ms, route_base
from bullrush.base.handle import Handle, core_of
from bullrush.base.operation import operation, reply
from bullrush.errors import BullrushError, InvalidOptionError
from bullrush.job.calls.changes import DEFAULT_KEPT_LOGS, encode_progress
from bullrush.job.failure import CANCELLED
from bullrush.queue.routing.routes import DEEPEST, cores_by_route, drain_revived, registered_routes, replies
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.encoding import JSON
from bullrush.values.naming import id_of_job, nearest
from bullrush.values.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bullrush._core import CoreQueue

_DEFAULT_COUNT: Final = 1_000


#: The states that `clean` accepts.
CleanableState: TypeAlias = Literal[
    "completed", "wait", "waiting", "active", "paused", "prioritized", "delayed", "failed"
]
_CLEANABLE: Final = frozenset(get_args(CleanableState))


class QueueAdministration(Handle):
    """The calls that change a queue or its jobs."""

    @operation
    async def pause(self) -> None:
        """Pause the queue for all workers: they finish their running jobs and take no more.

        Its routes are paused, too: first the queue, then each route. After an error call it again for the others. A
        route that is registered later begins paused.
        """
        await reply(self.core.pause())
        await replies([route.pause() for route in [*(await cores_by_route(self)).values()]])
        self.emit("paused")

    @operation
    async def resume(self) -> None:
        """Resume a paused queue for all workers: first the queue, then its routes."""
        await reply(self.core.resume())
        await replies([route.resume() for route in [*(await cores_by_route(self)).values()]])
        self.emit("resumed")

    @operation
    async def remove(self, job_id: str, *, remove_children: bool = True) -> int:
        """Remove a job and, by default, its children.

        Args:
            job_id: the id of the job.
            remove_children: False leaves the children.

        Returns:
            0 if a worker runs the job, else 1, also if there was no such job.

        Raises:
            SchedulerJobError: the job is the next job of a job scheduler.
        """
        removed = await reply(self.core.remove(id_of_job(job_id), remove_children))
        if removed:
            self.emit("removed", job_id)
        return removed

    @operation
    async def cancel_job(self, job_id: str, reason: str | None = None) -> bool:
        """Cancel a running job, whichever worker of bullrush runs it; see `Worker.cancel_job`.

        The worker sees it within about a second. Workers of BullMQ do not see it.

        Args:
            job_id: the job's id.
            reason: the reason with which the job fails.

        Returns:
            False if no worker runs the job.

        Redis:
            An entry in the queue's hash ``ext:cancel``, which expires after a minute. Two round trips.
        """
        reason = checks.text("reason", reason or CANCELLED)
        return await reply(self.core.cancel_job(id_of_job(job_id), reason))

    @operation
    async def retry_jobs(
        self,
        *,
        state: Literal["failed", "completed"] = "failed",
        count: int = _DEFAULT_COUNT,
        timestamp: int | None = None,
    ) -> None:
        """Move all failed (or completed) jobs back to wait.

        Args:
            state: failed or completed.
            count: how many jobs per script call.
            timestamp: only jobs that finished up to this time, in ms since 1970; now by default.

        Raises:
            InvalidOptionError: an argument has an invalid value; nothing was moved.
            ConnectionLostError, OutcomeUnknownError: some of the jobs may have been moved; call it again for the rest.
        """
        if state not in {"failed", "completed"}:
            raise InvalidOptionError(f"state must be 'failed' or 'completed', not {state!r}")
        until = now_ms() if timestamp is None else checks.whole("timestamp", timestamp)
        await reply(self.core.retry_jobs(state, checks.at_least(1)("count", count), until))

    @operation
    async def promote_jobs(self, *, count: int = _DEFAULT_COUNT) -> None:
        """Move all delayed jobs to wait, so that they can run now; ``count`` jobs per script call.

        Args:
            count: the most jobs of one script call.
        """
        await reply(self.core.promote_jobs(checks.at_least(1)("count", count)))

    @operation
    async def promote_many(self, job_ids: Iterable[str]) -> list[str]:
        """Move delayed jobs with these ids to where they may run now, with the same result as `Job.promote` for each.

        Args:
            job_ids: the ids of the jobs.

        Returns:
            The ids of the jobs that it moved, in the order given. Jobs that are not delayed, or do not exist, stay as
            they are.

        Raises:
            InvalidOptionError: an id is no text; nothing was moved.
            ConnectionLostError, OutcomeUnknownError: some of the jobs may have been moved.

        Redis:
            One script per 250 jobs: ``manage/promote_many``. Each part is moved atomically, the whole list is not.
        """
        if isinstance(job_ids, str):
            raise InvalidOptionError(f"job_ids must be several ids, not the text {shown(job_ids)}")
        return await reply(self.core.promote_many([id_of_job(job_id) for job_id in job_ids]))

    @operation
    async def promote_due(self, limit: int = 100) -> int:
        """Move delayed jobs that are due to where they may run now, those that are due for longest first.

        Workers do this before each fetch, so it is needed only where no worker runs: for example to see what would
        wait. Any number of programs may call it at the same time. It costs one round trip per 1,000 jobs.

        Args:
            limit: the most jobs to move.

        Returns:
            The number of jobs that it moved.
        """
        return await reply(self.core.promote_due(checks.at_least(1)("limit", limit)))

    @operation
    async def drain(self, delayed: bool = False) -> None:
        """Remove all waiting and prioritized jobs, and with ``delayed=True`` also the delayed ones.

        Active jobs continue.

        The next job of each job scheduler stays. There are no events. The same is done on all routes of the queue.

        Args:
            delayed: True also removes delayed jobs.

        Redis:
            ``manage/drain``, up to 250 jobs per call. With routes it is repeated where jobs still wait: parents become
            ready when their last child is removed in another route.
        """
        await reply(self.core.drain(delayed))
        if routes := [*(await cores_by_route(self)).values()]:
            await replies([route.drain(delayed) for route in routes])
            await drain_revived([self.core, *routes], delayed=delayed)

    @operation
    async def clean(
        self, grace: Duration, limit: int, type: CleanableState = "completed", *, routes: bool = False
    ) -> list[str]:
        """Remove old jobs of a state.

        Active jobs are removed only if no worker holds their lock, a scheduler's next job never.

        Args:
            grace: the minimum age in ms: since the job finished or, for unfinished jobs, since it was last taken or
                added; for prioritized jobs since it was added.
            limit: how many jobs to check, oldest first; 0 is all of them.
            type: completed, failed, wait (or waiting), active, paused, prioritized or delayed.
            routes: True cleans all routes of the queue as well, also those that have retired. The limit is for each of
                them.

        Returns:
            The ids of the removed jobs: first those of this queue, then those of its routes, by the name of the route.
            Two queues may have the same ids.

        Raises:
            InvalidOptionError: there is no such state.
            OutcomeUnknownError: the connection broke; some jobs may have been removed.

        Redis:
            ``manage/clean``, up to 250 jobs per call; an event ``cleaned`` after every 10,000 jobs and at the end. In a
            route from which nothing is removed there is no event: it is not used by that, and may end.
        """
        if type not in _CLEANABLE:
            raise InvalidOptionError(f"There are no {type!r} jobs to clean.{nearest(str(type), _CLEANABLE)}")
        cutoff = now_ms() - checks.milliseconds("grace", grace)
        most = checks.at_least(0)("limit", limit) or None
        with_routes = checks.boolean("routes", routes)
        of_routes = [*(await cores_by_route(self, retired=True)).values()] if with_routes else []
        ids = await reply(self.core.clean(type, cutoff, most, quiet=route_base(self._name) is not None))
        for cleaned in await replies([route.clean(type, cutoff, most, quiet=True) for route in of_routes]):
            ids += cleaned
        self.emit("cleaned", ids, "wait" if type == "waiting" else type)
        return ids

    async def _remove_revived(self, base: CoreQueue, routes: Sequence[CoreQueue], *, force: bool, most: int) -> None:
        """Remove what has come into queues that were gone already.

        A parent becomes ready when the last of its children is removed in another queue; a worker may have run it.
        """
        queues, gone = [*routes, base], True
        # A parent may have a parent, and a worker may run each of them: as many rounds as any flow is deep.
        for _ in range(DEEPEST):
            revived = await drain_revived(queues, delayed=True)
            counts = await replies([queue.get_counts(["active", "completed", "failed"]) for queue in queues])
            found = [queue for queue, left in zip(queues, counts, strict=True) if queue in revived or any(left)]
            for queue in found:
                await reply(queue.pause())
                await reply(queue.obliterate(force, most))
            gone = gone and not found
            if not found:
                break
        if not gone:  # the registry goes last
            await reply(base.pause())
            await reply(base.obliterate(force, most))

    @operation
    async def obliterate(self, *, force: bool = False, count: int = _DEFAULT_COUNT) -> None:
        """Pause the queue and remove it from Redis, with all its jobs and all its routes.

        On the queue that `route` has returned it removes this route, and its place is free for another one.

        Args:
            force: also if jobs are active.
            count: how many jobs per script call.

        Raises:
            BullrushError: jobs are active and ``force`` is not set; nothing was removed, and the queue stays paused.
                Beside workers that run parents of flows over several routes some jobs may be gone; then call it again.
        """
        most = checks.at_least(1)("count", count)
        await registered_routes(self, retired=True)  # before anything is written: an error about the registry
        # Not the core of this handle, which would register a route that is to be removed.
        base = core_of(self, self._name)
        await reply(base.pause())
        live, cores = await registered_routes(self), await cores_by_route(self, retired=True)
        routes = [*cores.values()]
        await replies([cores[name].pause() for name in live if name in cores])
        self.emit("paused")
        if routes and not force:
            active = await replies([core.get_counts(["active"]) for core in (base, *routes)])
            if any(map(sum, active)):
                raise BullrushError("Cannot obliterate queue with active jobs")
        # Not before: a retired route that is paused comes back.
        await replies([core.pause() for name, core in cores.items() if name not in live])
        # The queue goes last, with the registry: after an error the rest can be found.
        await replies([route.obliterate(force, most) for route in routes])
        # By the core of this handle: it has to know that its route is to be registered again by the next add.
        await reply(self.core.obliterate(force, most))
        if routes:
            await self._remove_revived(base, routes, force=force, most=most)
        self._routes.forget_registrations()

    @operation
    async def update_job_progress(self, job_id: str, progress: JSON, *, strict: bool = True) -> None:
        """Set a job's progress; see `Job.update_progress`. As in BullMQ, this emits no local event ``progress``.

        Args:
            job_id: the id of the job.
            progress: any JSON value.
            strict: False allows any number.

        Raises:
            JobNotFoundError: there is no such job.
        """
        await reply(self.core.update_progress(id_of_job(job_id), encode_progress(progress, strict=strict)))

    @operation
    async def add_job_log(self, job_id: str, row: str, keep_logs: int | None = None) -> int:
        """Append a row to a job's log, as `Job.log` does.

        Args:
            job_id: the id of the job.
            row: the text of the row.
            keep_logs: how many of the last rows are kept, 0 for all; None is what the job's option of this name says,
                100 by default.

        Returns:
            How many rows the log has now.

        Raises:
            InvalidOptionError: ``keep_logs`` is no whole number from 0 on.
            JobNotFoundError: there is no such job.
        """
        keep = DEFAULT_KEPT_LOGS if keep_logs is None else checks.at_least(0)("keep_logs", keep_logs)
        return await reply(self.core.add_log(id_of_job(job_id), str(row), keep or None, keep_logs is None))

    @operation
    async def get_deduplication_job_id(self, id: str) -> str | None:
        """Return the id of the job that has a deduplication id, None if it is free.

        Args:
            id: the deduplication id.
        """
        return await reply(self.core.deduplication_owner(id))

    @operation
    async def remove_deduplication_key(self, id: str) -> int:
        """Free a deduplication id, so that the next job with this id is added.

        Args:
            id: the deduplication id.

        Returns:
            1; 0 if it was free.
        """
        return await reply(self.core.free_deduplication_id(id))

    @operation
    async def trim_events(self, max_length: int) -> int:
        """Shorten the event stream to about ``max_length`` entries. Returns how many were removed.

        Args:
            max_length: about how many of the newest entries stay.
        """
        return await reply(self.core.trim_events(checks.at_least(0)("max_length", max_length)))

    @operation
    async def remove_deprecated_priority_key(self) -> int:
        """Delete a key that BullMQ before version 4 used for priorities. Returns 1 if there was one, else 0."""
        return await reply(self.core.remove_old_priorities())

    @operation
    async def remove_orphaned_jobs(self, count: int = _DEFAULT_COUNT, limit: int = 0) -> int:
        """Remove orphaned jobs, which are in no state, and left-over keys of removed jobs. No worker can ever run them.

        A parent that waited for such a job no longer does. Other keys are not touched.

        Args:
            count: about how many keys to scan per round trip.
            limit: the most jobs to remove; 0 is no limit.

        Returns:
            How many jobs were removed.

        Redis:
            SCAN over the whole database; the ids of all waiting and active jobs are read once. Then
            ``manage/remove_orphaned_jobs`` checks the candidates again and removes them.
        """
        page, most = checks.at_least(1)("count", count), checks.at_least(0)("limit", limit)
        return await reply(self.core.sweep_orphaned_jobs(page, most))
