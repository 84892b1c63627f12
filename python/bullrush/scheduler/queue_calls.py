"""The calls of a queue about its job schedulers."""

from __future__ import annotations

from typing import TypedDict

from bullrush.base.operation import operation, reply
from bullrush.job.job import JobT
from bullrush.scheduler.options import RepeatOptions, has_oldest_form, oldest_stem, repeatable_keys
from bullrush.scheduler.scheduler import SchedulerCalls, SchedulerJson, read_fields, read_number


class RepeatableJob(TypedDict):
    """A scheduler or an old repeatable as older clients list it; ``every`` is a text."""

    key: str
    name: str | None
    end_date: int | None
    tz: str | None
    pattern: str | None
    every: str | None
    next: int


class QueueSchedulers(SchedulerCalls[JobT]):
    """The further calls of a queue about job schedulers and old repeatables."""

    @operation
    async def get_job_scheduler(self, scheduler_id: str) -> SchedulerJson | None:
        """Return a job scheduler, None if there is none of this id."""
        return await self._found(scheduler_id)

    @operation
    async def get_job_schedulers_count(self) -> int:
        """Return how many job schedulers there are."""
        return await self._how_many()

    @operation
    async def get_repeatable_jobs(self, start: int = 0, end: int = -1, asc: bool = False) -> list[RepeatableJob]:
        """Return old repeatables, and job schedulers as if they were some. Prefer `get_job_schedulers`."""
        return [_repeatable(*found) for found in await self._ranked(start, end, asc=asc)]

    @operation
    async def remove_repeatable(self, name: str, repeat_opts: RepeatOptions, job_id: str | None = None) -> bool:
        """Remove an old repeatable, which is named by the options it was added with.

        Args:
            name: the name of its jobs.
            repeat_opts: its repeat options.
            job_id: the job id it was added with, if any.

        Returns:
            False if there is no such repeatable.
        """
        for key in repeatable_keys(name, repeat_opts, job_id):
            if await reply(self.core.remove_job_scheduler(key, oldest_stem(key))):
                return True
        return False

    @operation
    async def remove_repeatable_by_key(self, key: str) -> bool:
        """Remove an old repeatable by the key that `get_repeatable_jobs` tells.

        Returns:
            False if there is no such repeatable.
        """
        return await reply(self.core.remove_job_scheduler(key, oldest_stem(key)))


def _repeatable(key: str, score: bytes, flat: list[bytes]) -> RepeatableJob:
    fields = read_fields(flat)
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
        "next": int(float(score)),
    }
