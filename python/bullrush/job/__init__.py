"""Jobs: their fields, options and calls, and what becomes of them."""

from bullrush.job.fields import BackoffStrategy
from bullrush.job.job import Job
from bullrush.job.options import BackoffOptions, DeduplicationOptions, JobOptions, KeepOptions, NewJob, ParentOptions

__all__ = [
    "BackoffOptions",
    "BackoffStrategy",
    "DeduplicationOptions",
    "Job",
    "JobOptions",
    "KeepOptions",
    "NewJob",
    "ParentOptions",
]
