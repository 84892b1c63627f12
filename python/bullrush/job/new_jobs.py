"""The one way in which new jobs are checked and encoded: one job, many of them, and those of flows and schedulers."""

from __future__ import annotations

from bullrush._core import NewJobs
from bullrush.values.encoding import JSON, encode
from bullrush.values.naming import check_job_name


def new_jobs(timestamp: int) -> NewJobs:
    """Return a list of jobs to add, still empty.

    ``add`` and ``extend`` raise DataError for data that is not JSON, InvalidOptionError for a name that is no str, and
    TooLargeError for data that is longer than the limit of the job or of its queue.

    Args:
        timestamp: the time of the add in ms, for jobs without a ``timestamp`` of their own.
    """
    return NewJobs(_checked, timestamp)


def _checked(name: object, data: JSON) -> tuple[str, bytes]:
    """Return a name and JSON that the core did not take at once, or raise."""
    return check_job_name(name), encode(data, "data")
