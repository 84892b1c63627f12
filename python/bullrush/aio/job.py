"""A job whose calls are awaited."""

from typing import cast

from bullrush.job import context
from bullrush.job.job import AsyncJob as Job

__all__ = ["Job", "current_job"]


def current_job() -> Job:
    """Return the job that runs here, in an ``async def``; see `bullrush.current_job`."""
    return cast("Job", context.current_job())
