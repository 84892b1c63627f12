"""What the jobs of a worker's further queues come from, so that their calls go to their own queue."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bullrush.job.job import JobCalls, JobT

if TYPE_CHECKING:
    from bullrush._core import CoreQueue, JobRecord
    from bullrush.job.owner import JobOwner, JobWorker


class LaneQueue:
    """One further queue of a worker. All but its name and its calls is the worker's."""

    name: str
    prefix: str

    def __init__(self, name: str, worker: JobWorker, core_of: Callable[[str], CoreQueue]) -> None:
        self.name, self.prefix, self._job_worker = name, worker.prefix, worker
        self._core_of = core_of

    @cached_property
    def core(self) -> CoreQueue:
        """The compiled side of the queue."""
        return self._core_of(self.name)

    def _report_progress(self, job: Any, progress: Any) -> None:
        """Call the worker's listeners of ``progress``."""
        self._job_worker._report_progress(job, progress)

    def emit(self, event: str, *arguments: object) -> bool:
        """Call the listeners of the worker."""
        return self._job_worker.emit(event, *arguments)


class LaneSources:
    """The sources of the jobs of a worker, by queue."""

    def __init__(self, worker: JobWorker, core_of: Callable[[str], CoreQueue]) -> None:
        self._worker, self._core_of = worker, core_of
        self._by_queue: dict[str, JobOwner] = {worker.name: worker}

    def of(self, record: JobRecord) -> JobOwner:
        """Return the source of a job that the worker has taken."""
        name = record.queue_name or self._worker.name
        source = self._by_queue.get(name)
        if source is None:
            # Two threads may both make one: they are equal.
            source = self._by_queue[name] = LaneQueue(name, self._worker, self._core_of)
        return source

    def of_running(self, job: JobCalls) -> JobOwner | None:
        """Return the source of a running job, None if it is not one of this worker's queues."""
        return self._by_queue.get(job.queue_name) if job.prefix == self._worker.prefix else None

    def job_type(self, job_type: Callable[[JobRecord, JobOwner], JobT]) -> Callable[[JobRecord, JobOwner], JobT]:
        """Return a class of jobs so that each job gets the source of its own queue."""
        return lambda record, _: job_type(record, self.of(record))
