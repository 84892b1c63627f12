"""Puts the running job into the log records of handlers, and of all that they call."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

from bullrush.job.context import RUNNING


def job_fields() -> dict[str, Any]:
    """Return ``job_id``, ``job_name``, ``queue`` and ``attempt`` of the job that runs here.

    Empty outside of handlers.
    """
    job = RUNNING.get()
    if job is None:
        return {}
    return {"job_id": job.id, "job_name": job.name, "queue": job.queue_name, "attempt": job.attempts_made + 1}


class JobFilter(logging.Filter):
    """A filter for handlers of `logging` that adds the running job to records.

    Each record gets `job_id`, `job_name`, `queue` and `attempt`, None outside of jobs, so that a format may name them:
    ``"%(levelname)s %(job_id)s %(message)s"``. Fields that a record has already stay. No record is dropped.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the fields; return True.

        Args:
            record: the record.
        """
        fields = job_fields()
        for name in ("job_id", "job_name", "queue", "attempt"):
            if not hasattr(record, name):
                setattr(record, name, fields.get(name))
        return True


def add_job(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add the running job to an event of structlog: ``structlog.configure(processors=[add_job, ...])``."""
    for name, value in job_fields().items():
        event.setdefault(name, value)
    return event
