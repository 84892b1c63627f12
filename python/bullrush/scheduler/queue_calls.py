"""The calls of a queue about its job schedulers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from bullrush.base.handle import Handle
from bullrush.base.operation import operation, reply
from bullrush.scheduler.options import RepeatOptions, has_oldest_form, oldest_stem, repeatable_keys
from bullrush.scheduler.scheduler import SchedulerJson, read_scheduler
from bullrush.values.encoding import read_number


class RepeatableJob(TypedDict):
    """A job scheduler or a repeatable job of older BullMQ versions.

    Attributes:
        key: the id of the scheduler, or the key of the repeatable job.
        name: the name of its jobs.
        end_date: no job is due after this time; ms since 1970.
        tz: the time zone of the pattern.
        pattern: the cron pattern.
        every: ms between two jobs, as a text.
        next: when its latest job is due; ms since 1970.
    """

    key: str
    name: str | None
    end_date: int | None
    tz: str | None
    pattern: str | None
    every: str | None
    next: int


class QueueSchedulers(Handle):
    """Further calls about job schedulers, and the calls about repeatable jobs of older BullMQ versions."""

    @operation
    async def get_job_scheduler(self, scheduler_id: str) -> SchedulerJson | None:
        """Return the job scheduler with this id, None if there is none.

        Args:
            scheduler_id: the id of the job scheduler.
        """
        return await read_scheduler(self.core, scheduler_id)

    @operation
    async def get_job_schedulers_count(self) -> int:
        """Return the number of job schedulers."""
        return await reply(self.core.count_schedulers())

    @operation
    async def get_repeatable_jobs(self, start: int = 0, end: int = -1, asc: bool = False) -> list[RepeatableJob]:
        """Return repeatable jobs of older BullMQ versions, and job schedulers in the same form.

        Prefer `get_job_schedulers`.

        Args:
            start: the first position, counted from 0.
            end: the last position; -1 is the end.
            asc: the earliest time first; by default the latest time is first.
        """
        return [_repeatable(*scheduler) for scheduler in await reply(self.core.schedulers(start, end, asc))]

    @operation
    async def remove_repeatable(self, name: str, repeat_opts: RepeatOptions, job_id: str | None = None) -> bool:
        """Remove a repeatable job of older BullMQ versions, found by the options that it was added with.

        Args:
            name: the name of its jobs.
            repeat_opts: its repeat options.
            job_id: the job id that it was added with, if any.

        Returns:
            False if there is no such repeatable job.
        """
        for key in repeatable_keys(name, repeat_opts, job_id):
            if await reply(self.core.remove_job_scheduler(key, oldest_stem(key))):
                return True
        return False

    @operation
    async def remove_repeatable_by_key(self, key: str) -> bool:
        """Remove a repeatable job by its key from `get_repeatable_jobs`.

        Args:
            key: its key.

        Returns:
            False if there is no such repeatable job.
        """
        return await reply(self.core.remove_job_scheduler(key, oldest_stem(key)))


def _repeatable(key: str, due: float, stored: Iterable[tuple[str, str]]) -> RepeatableJob:
    fields = dict(stored)
    if not fields and has_oldest_form(key):
        name, _, end, tz, pattern = key.split(":", 4)
        fields = {"name": name, "endDate": end, "tz": tz, "pattern": pattern}
    return {
        "key": key,
        "name": fields.get("name"),
        "end_date": read_number(fields["endDate"]) if fields.get("endDate") else None,
        "tz": fields.get("tz") or None,
        "pattern": fields.get("pattern"),
        "every": fields.get("every"),
        "next": int(due),
    }
