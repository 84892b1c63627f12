"""A job whose calls are awaited."""

from bullrush.job.job import AsyncJob as Job

__all__ = ["Job"]
