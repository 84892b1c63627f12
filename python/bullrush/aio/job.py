"""A job whose calls are awaited."""

from bullrush.job import AsyncJob as Job

__all__ = ["Job"]
