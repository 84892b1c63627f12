"""The events of a worker: from the core to listeners and to the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sized
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic

from bullrush.errors import BullrushError, ConnectionLostError, JobFailedError, JobLockMissingError, of_class
from bullrush.job.fields import JobFields
from bullrush.job.job import JobCalls, JobT
from bullrush.job.source import JobSource
from bullrush.values.encoding import JSON, decode

if TYPE_CHECKING:
    from bullrush._core import JobRecord, WorkerEvent

#: Every event, and what its listeners are called with.
EVENTS: Final = {
    "ready": "()",
    "active": "(job)",
    "progress": "(job, progress)",
    "completed": "(job, result)",
    "failed": "(job, error)",
    "stalled": "(job_id)",
    "scheduler_repaired": "(scheduler_id)",
    "drained": "()",
    "paused": "()",
    "resumed": "()",
    "lock_renewal_failed": "(job_ids)",
    "error": "(error)",
    "closing": "()",
    "closed": "()",
}
#: Events that the core reports only if someone listens: there is one per job.
OUTCOMES: Final = ("completed", "failed")

_log: Final = logging.getLogger("bullrush")


class WorkerEvents(JobSource, Generic[JobT]):
    """Tells listeners and the log what happens to a worker and its jobs.

    Events and arguments: ``ready()``, ``active(job)``, ``progress(job, progress)``, ``completed(job, result)``,
    ``failed(job, error)`` after every failed attempt, ``stalled(job_id)``, ``scheduler_repaired(scheduler_id)``, ``drained()``, ``paused()``, ``resumed()``,
    ``lock_renewal_failed(job_ids)``, ``error(error)``, ``closing()``, ``closed()``. Listeners run on the thread that runs the
    worker; those of ``active`` and ``progress`` on the handler's. They get the job as its handler left it.
    """

    _events = EVENTS

    #: What listeners get.
    _job_type: ClassVar[Callable[..., JobCalls]]

    def __init__(self, queue_name: str, url: str | None, prefix: str, options: Mapping[str, object]) -> None:
        super().__init__(queue_name, url, prefix, options=options)

    def _listen(self, event: str, listener: Any, *, once: bool) -> Any:
        if event in OUTCOMES and listener is not None:
            # Before it listens: what handlers hand in for listeners is kept until it is reported.
            self._report_outcomes(wanted=True)
        return super()._listen(event, listener, once=once)

    def _wants_outcomes(self) -> bool:
        return any(self.has_listeners(event) for event in OUTCOMES)

    def _report_outcomes(self, *, wanted: bool) -> None:
        """Let the core report outcomes from now on, or no more, if it runs."""

    def _announce_progress(self, job: JobFields, progress: JSON) -> None:
        self._announce("progress", job, progress)

    def watched(self, event: str) -> Sized:
        """Return something that is not empty while someone listens to an event."""
        return self._listeners.entries(event)

    def job_started(self, job: JobCalls) -> None:
        """Tell listeners that a handler is about to get a job."""
        self._announce("active", job)

    def _announce(self, event: str, job: JobFields, *arguments: object) -> None:
        self.emit(event, job.as_type(self._job_type), *arguments)

    def _report(self, event: WorkerEvent | None) -> None:
        """Pass on what the core tells: to listeners, and without payloads to the log. None: nothing for a while."""
        if event is None:
            self._listeners.expire()
            return
        kind, record, text, *_ = event
        emit = self.emit
        if record is not None:
            self._report_job(record, event)
        elif kind == "stalled":
            _log.warning("Job %s had stalled: its worker went silent", text)
            emit(kind, text)
        elif kind == "cancelled":
            token, _, job_id = text.partition(" ")
            self._cancel(job_id, token)
        elif kind == "scheduler_repaired":
            _log.warning("Job scheduler %s had no next job and goes on again", text)
            emit(kind, text)
        elif kind == "lock_lost":
            lost = JobLockMissingError(f"could not renew lock for job {text}")
            _log.warning("%s", lost)
            self._cancel(text, None)
            emit("lock_renewal_failed", [text])
            emit("error", lost)
        elif kind == "error":
            _log.error("%r: %s", self, text)
            emit(kind, BullrushError(text))
        elif kind == "reconnecting":
            _log.warning("%r: %s", self, text)
            emit("error", ConnectionLostError(text))
        elif kind == "connected":
            _log.info("%r: connected again", self)
        elif kind == "dropped":
            _log.warning("%r: %s events were not told: its listeners are too slow", self, text)
        elif kind == "ready" or kind == "drained":
            emit(kind)

    def _report_job(self, record: JobRecord, event: WorkerEvent) -> None:
        kind, _, text, number, stacktrace, left, class_name = event
        if not self._wants_outcomes():
            self._report_outcomes(wanted=False)
            # Somebody may have come in between.
            self._report_outcomes(wanted=self._wants_outcomes())
        # Of a job that no handler got, nothing is left.
        job, error = left if isinstance(left, tuple) else (left, None)
        if job is None:
            job = self._job_type(record, self)
        if kind == "refused":
            self._announce("active", job)
        elif kind == "completed":
            job.completed(text.encode(), number)
            self._announce(kind, job, decode(text, "returnvalue", record.id))
        elif stacktrace is not None:
            _log.debug("Job %s failed, %s", record.id, "will be retried" if kind == "retried" else "for good")
            note = job.retried if kind == "retried" else job.failed
            note(text, stacktrace, number)
            told = of_class(class_name or JobFailedError.__name__, text) if error is None else error
            self._announce("failed", job, told)

    def _cancel(self, job_id: str, token: str | None) -> None:
        """Stop the handler of a job, whatever token it runs under if that is None."""
