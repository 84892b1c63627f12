"""A job with what cannot be decoded said in words."""

from __future__ import annotations

from dataclasses import dataclass

from bullrush.aio import Job, Queue
from bullrush.errors import MalformedJobError
from bullrush.extending import JSON


@dataclass(frozen=True)
class ReadJob:
    """A job that was read, and what it holds.

    Attributes:
        job: the job.
        data: its data; None if they are not JSON.
        options: its options; None if they are not JSON.
        broken: what cannot be decoded.
    """

    job: Job
    data: JSON
    options: JSON
    broken: tuple[str, ...] = ()

    @property
    def result(self) -> JSON:
        """The result of the job."""
        return self.job.returnvalue


def read(job: Job) -> ReadJob:
    """Decode a job."""
    try:
        return ReadJob(job, job.data, job.opts)
    except MalformedJobError as error:
        return ReadJob(job, None, None, (str(error),))


async def whole_job(queue: Queue, job_id: str) -> ReadJob | None:
    """Return a job, None if there is none."""
    job = await queue.get_job(job_id)
    return None if job is None else read(job)
