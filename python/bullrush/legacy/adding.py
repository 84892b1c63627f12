"""The calls that add jobs to a queue of Bull, and retry them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypedDict
from uuid import uuid4

from bullrush.errors import from_code
from bullrush.extending import JSON, NO_DATA, Duration, check_given_id, now_ms, operation, reply
from bullrush.job import BackoffOptions, KeepOptions
from bullrush.legacy.flavor import Layout, LegacyBase
from bullrush.legacy.job import LegacyJob
from bullrush.legacy.new_job import new_job
from bullrush.legacy.new_repeatable import NewRepeatable, new_repeatable
from bullrush.legacy.reading import read_jobs

if TYPE_CHECKING:
    from bullrush.scheduler import RepeatOptions

_REFUSALS = {
    -1: "Missing key for job {id}",
    -3: "Job {id} is not in the failed state",
    -6: "Job {id} is locked: a worker still holds it",
}


class LegacyDebounce(TypedDict, total=False):
    """Drops a new job while a job with the same id exists.

    Attributes:
        id: the debounce id; required.
        ttl: ms until the id is free again, or a timedelta; by default it is free when the job ends.
    """

    id: str
    ttl: Duration


class LegacyAdding(LegacyBase):
    """The calls that add jobs, and retry them."""

    @cached_property
    def _token(self) -> str:
        """A text that is unique to this object; Bull's messages end in it."""
        return str(uuid4())

    @operation
    async def add(
        self,
        name: str,
        data: JSON = NO_DATA,
        *,
        job_id: str | None = None,
        delay: Duration | None = None,
        priority: int | None = None,
        lifo: bool | None = None,
        attempts: int | None = None,
        backoff: Duration | BackoffOptions | None = None,
        timeout: Duration | None = None,
        remove_on_complete: bool | int | KeepOptions | None = None,
        remove_on_fail: bool | int | KeepOptions | None = None,
        timestamp: int | None = None,
        stack_trace_limit: int | None = None,
        debounce: LegacyDebounce | None = None,
        repeat: RepeatOptions | None = None,
    ) -> LegacyJob:
        """Add a job as this version of Bull does, for its workers.

        Args:
            name: the kind of job. Bull 1 and 2 have no names: there it is not stored.
            data: any JSON value; ``{}`` by default.
            job_id: a custom id, as for `Queue.add`; not with Bull 1. If a job with this id exists, nothing is added.
            delay: ms before the job may run. The latest possible time is in September 2039.
            priority: 1 is the most urgent; 0 is none and runs last. Not with Bull 1.
            lifo: run before the jobs that are waiting. Of ``lifo`` and ``priority``, Bull 2 ignores the priority, later
                versions ignore ``lifo``.
            attempts: how often the job may run in total; once by default.
            backoff: the wait before the next attempt: ms, or a type and ms. Bull's ``exponential`` waits ``(2**n - 1) *
                delay`` after attempt ``n``.
            timeout: ms after which Bull's worker fails the job.
            remove_on_complete: True removes the completed job; a number keeps that many of the newest (with later
                versions of Bull 3, and Bull 4). Not with Bull 1.
            remove_on_fail: the same for failed jobs.
            timestamp: when the job was added, in ms since 1970; now by default.
            stack_trace_limit: how many stack traces Bull keeps, all by default. Not with Bull 1 and 2.
            debounce: while a job with the same ``id`` exists, nothing is added: until it ends, or for ``ttl`` ms. Needs
                Bull 4.16 or later, whose workers remove the id.
            repeat: adds a repeatable job, as `Queue.upsert_job_scheduler` takes it: ``every`` or ``pattern`` (in Bull
                ``cron``), ``tz``, ``start_date``, ``end_date``, ``limit``. A pattern without ``tz`` has no zone, as
                with Bull: the first time is one of this process's zone, later ones are of the zone of the worker that
                makes them. With ``job_id`` there may be several of the same name and times. Not with Bull 1 and 2;
                intervals not with 3.0. See `remove_repeatable`.

        Returns:
            The job. If a job with its ``job_id`` exists, that job; if a job holds its ``debounce`` id, that one. With
            ``repeat`` the first job, which is delayed.

        Raises:
            LegacyQueueError: it is not known which version of Bull it is, see `get_flavor`.
            DataError: a part of the data is not JSON; the message has its path.
            InvalidOptionError: an option has an invalid value, or this version of Bull does not have it.
            OutcomeUnknownError: the connection broke; the job, which has no ``job_id``, was added or not.

        Redis:
            One script: ``legacy/add_1``, ``legacy/add_2`` or ``legacy/add_3``; with ``repeat``
            ``legacy/schedule_repeatable``.
        """
        options = {
            "job_id": job_id,
            "delay": delay,
            "priority": priority,
            "lifo": lifo,
            "attempts": attempts,
            "backoff": backoff,
            "timeout": timeout,
            "remove_on_complete": remove_on_complete,
            "remove_on_fail": remove_on_fail,
            "timestamp": timestamp,
            "stack_trace_limit": stack_trace_limit,
            "debounce": debounce,
            "repeat": repeat,
        }
        layout = await self._require_layout()
        job = new_job(layout, name, data, options, now_ms())
        if repeat is not None:
            return await self._add_repeatable(layout, new_repeatable(job, repeat))
        script = f"add_{min(layout, '3')}"
        [[id, added]] = await reply(self.core.legacy_calls(script, [job.arguments(layout, self._token)]))
        new = LegacyJob(id.decode(), job.fields(layout))
        return new if added else (await read_jobs(self, [new.id]))[0] or new

    async def _add_repeatable(self, layout: Layout, new: NewRepeatable) -> LegacyJob:
        fields = new.job.fields(layout)
        flat = [part for field, value in fields.items() for part in (field, value)]
        await reply(self.core.legacy_calls("schedule_repeatable", [[new.key, "", new.next, new.id, *flat]]))
        return LegacyJob(new.id, fields)

    @operation
    async def retry(self, job_id: str) -> None:
        """Let a failed job run again. The attempts that it has made still count, as with Bull: it runs once more.

        It goes behind the jobs that wait; to the front if it was added with ``lifo``. Redis: one round trip to read it,
        and the script ``legacy/retry``.

        Args:
            job_id: the id of the job.

        Raises:
            JobNotFoundError: the job does not exist.
            JobStateError: the job has not failed.
            JobLockMismatchError: a worker still holds the job.
            LegacyQueueError: it is not known which version of Bull it is, see `get_flavor`.
            OutcomeUnknownError: the connection broke; the job was moved or not.
        """
        layout = await self._require_layout()
        [job] = await read_jobs(self, [check_given_id(job_id)])
        lifo = int(job is not None and job.lifo)
        [code] = await reply(self.core.legacy_calls("retry", [[job_id, lifo, layout, now_ms(), self._token]]))
        if code < 0:
            raise from_code(code, _REFUSALS[code].format(id=job_id))
