"""Jobs: their fields, their options and their calls."""

from bullrush.job.calls.dependencies import Cursor
from bullrush.job.calls.moves import AttemptResult
from bullrush.job.job import Job
from bullrush.job.options import BackoffOptions, DeduplicationOptions, JobOptions, KeepOptions, NewJob, ParentOptions
from bullrush.job.owner import BackoffStrategy

__all__ = [
    "AttemptResult",
    "BackoffOptions",
    "BackoffStrategy",
    "Cursor",
    "DeduplicationOptions",
    "Job",
    "JobOptions",
    "KeepOptions",
    "NewJob",
    "ParentOptions",
]
