"""What the jobs of a worker's further queues come from, so that their calls go to their own queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from bullrush.job.handle import JobHandle
from bullrush.job.job import JobCalls, JobT
from bullrush.job.source import BackoffStrategy, ProgressListener, Source
from bullrush.retries import Classifier

if TYPE_CHECKING:
    from bullrush._core import CoreWorkerOptions, JobRecord, Pending
    from bullrush.base.handle import CoreSettings
    from bullrush.job.record import Record


class LaneWorker(Source, Protocol):
    """What a lane needs from its worker."""

    _core_settings: CoreSettings

    def _core_options(self) -> CoreWorkerOptions: ...


class LaneHandle(JobHandle):
    """One further queue of a worker. All but its name and its calls is the worker's."""

    def __init__(self, name: str, url: str, worker: LaneWorker) -> None:
        limit = worker._core_settings["payload_limit"]
        super().__init__(name, url, worker.prefix, options={"allow_legacy": True, "payload_limit": limit})
        self._worker = worker

    @property
    def backoff_strategy(self) -> BackoffStrategy | None:
        """Internal: the custom backoff strategy of the worker."""
        return self._worker.backoff_strategy

    def classifiers(self, name: str) -> Sequence[Classifier]:
        """Internal: return what the worker asks about the exceptions of jobs of this name."""
        return self._worker.classifiers(name)

    @property
    def on_progress(self) -> ProgressListener | None:
        """Internal: called by the jobs that report progress; None if the worker has no listeners."""
        return self._worker.on_progress

    def record_start(self, record: Record) -> Pending[None] | None:
        """Internal: write the start of a job that was claimed ahead; see `WorkerCalls.record_start`."""
        return self._worker.record_start(record)

    def emit(self, event: str, *arguments: object) -> bool:
        """Internal: call the listeners of the worker."""
        return self._worker.emit(event, *arguments)

    def _core_options(self) -> CoreWorkerOptions:
        return self._worker._core_options()


class LaneSources:
    """The sources of the jobs of a worker, by queue."""

    def __init__(self, url: str, worker: LaneWorker) -> None:
        self._url = url
        self._worker = worker
        self._by_queue: dict[str, Source] = {worker.name: worker}

    def of(self, record: JobRecord) -> Source:
        """Return the source of a job that the worker has taken."""
        name = record.queue_name or self._worker.name
        source = self._by_queue.get(name)
        if source is None:
            # Two threads may both make one: they are equal.
            source = self._by_queue[name] = LaneHandle(name, self._url, self._worker)
        return source

    def of_running(self, job: JobCalls) -> Source | None:
        """Return the source of a running job, None if it is not one of this worker's queues."""
        return self._by_queue.get(job.queue_name) if job.prefix == self._worker.prefix else None

    def job_type(self, job_type: Callable[[JobRecord, Source], JobT]) -> Callable[[JobRecord, Source], JobT]:
        """Return a class of jobs so that each job gets the source of its own queue."""
        return lambda record, _: job_type(record, self.of(record))
