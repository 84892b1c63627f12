"""The events of a worker: the core reports them, listeners and the log get them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic

from bullrush.base.handle import Handle
from bullrush.errors import BullrushError, ConnectionLostError, JobFailedError, JobLockMissingError, of_class
from bullrush.job.fields import JobFields
from bullrush.job.job import JobCalls, JobT
from bullrush.rights import lacks
from bullrush.url import address, user_of
from bullrush.values.encoding import JSON, decode
from bullrush.worker.lanes.held import queue_of
from bullrush.worker.lanes.lane import Lane
from bullrush.worker.lanes.sources import LaneSources
from bullrush.worker.logs import LOG, log_failed, log_retrying, log_rights
from bullrush.worker.tracing import trace_failure

if TYPE_CHECKING:
    from bullrush._core import CoreWorkerOptions, JobRecord, WorkerEvent

#: Every event, and the arguments of its listeners.
EVENTS: Final = {
    "ready": "()",
    "active": "(job)",
    "progress": "(job, progress)",
    "completed": "(job, result)",
    "failed": "(job, error)",
    "retrying": "(job, error, next_run_at)",
    "stalled": "(job_id)",
    "scheduler_repaired": "(scheduler_id)",
    "route_unmatched": "(route, waiting)",
    "drained": "()",
    "paused": "()",
    "resumed": "()",
    "lock_renewal_failed": "(job_ids)",
    "error": "(error)",
    "closing": "()",
    "closed": "()",
}
#: Events that the core reports only if they have listeners, since there is one per job.
PER_JOB: Final = ("completed", "failed", "retrying")


class WorkerEvents(Handle, Generic[JobT]):
    """The part of a worker that emits its events; `bullrush.Worker` describes them."""

    _events = EVENTS
    #: Why a run cannot reach Redis, as logged: the codes of Redis' errors, or "" for no answer; empty while it can.
    _outage: frozenset[str] = frozenset()

    _lanes: tuple[Lane, ...] = ()

    _sources: LaneSources | None = None

    #: The class of the jobs that listeners get.
    _job_type: ClassVar[Callable[..., JobCalls]]

    def __init__(
        self,
        queue_name: str,
        url: str | None,
        prefix: str,
        *,
        options: Mapping[str, object],
        worker: CoreWorkerOptions,
    ) -> None:
        super().__init__(queue_name, url, prefix, options=options, worker=worker)

    @property
    def sources(self) -> LaneSources | None:
        """Internal: where the jobs come from; None if all come from the worker's own queue."""
        return self._sources

    @property
    def queue_names(self) -> list[str]:
        """Internal: the queues that the worker was made for, without routes."""
        return [lane.queue for lane in self._lanes] or [self._name]

    @property
    def shown_queues(self) -> str:
        """Internal: the names of these queues in one text."""
        return ", ".join(self.queue_names)

    def shown_job(self, job_id: str, queue: str | None) -> str:
        """Internal: name a job in a text: by its queue, too, in a worker of several queues, since ids are per queue."""
        return job_id if self._sources is None or queue is None else f"{job_id} of queue {queue!r}"

    def told_rights(self, missing: Sequence[str]) -> str:
        """Internal: say which rights the user of the URL lacks."""
        return lacks(missing, "worker", user_of(self._url))

    def _listen(self, event: str, listener: Any, *, once: bool) -> Any:
        if event in PER_JOB and listener is not None:
            # Before the listener is added: from now on the core keeps jobs for it.
            self._report_outcomes(wanted=True)
        return super()._listen(event, listener, once=once)

    def _wants_outcomes(self) -> bool:
        return any(self._has_listeners(event) for event in PER_JOB)

    def _report_outcomes(self, *, wanted: bool) -> None:
        """Start or stop the core's reports of completed and failed jobs, if the worker runs."""

    def report_progress(self, job: JobFields, progress: JSON) -> None:
        """Emit ``progress`` for a job of this worker."""
        if self._has_listeners("progress"):
            self._emit_from_handler("progress", job, progress)

    def listeners_of(self, event: str) -> Sized:
        """Internal: return a collection that is not empty while an event has listeners."""
        return self._listeners.entries(event)

    def job_started(self, job: JobCalls) -> None:
        """Internal: emit ``active`` for a job whose handler starts now."""
        self._emit_from_handler("active", job)

    def _emit_from_handler(self, event: str, job: JobFields, *arguments: object) -> None:
        """Emit an event where the handler runs. A listener that raises `SystemExit` ends the run, and fails no job."""
        try:
            self._emit_for_job(event, job, *arguments)
        except BaseException as error:
            self._end_run(error)

    def _end_run(self, error: BaseException) -> None:
        """End the run because of an error, which the run raises. Without a run the caller gets it."""
        raise error

    def _emit_for_job(self, event: str, job: JobFields, *arguments: object) -> None:
        self.emit(event, job.as_type(self._job_type), *arguments)

    def _report(self, event: WorkerEvent | None) -> None:
        """Emit an event of the core, and log it without payloads. None means that there was no event for a while."""
        if event is None:
            self._listeners.expire()
            return
        kind, record, text, numbers, *_ = event
        emit = self.emit
        if record is not None:
            self._report_job(record, event)
        elif kind == "stalled":
            queue, _, job_id = text.partition(":")
            fields = {"job_id": job_id, "queue": queue}
            text = "Job %s had stalled: its worker stopped renewing its lock"
            LOG.warning(text, self.shown_job(job_id, queue), extra=fields)
            emit(kind, job_id)
        elif kind == "cancelled":
            token, _, job_id = text.partition(" ")
            self._cancel(job_id, token)
        elif kind == "scheduler_repaired":
            LOG.warning("Job scheduler %s had no next job: it was made again", text)
            emit(kind, text)
        elif kind == "route_unmatched":
            waiting, age = numbers
            LOG.warning(
                "No worker takes the jobs of route %r: %s wait, the oldest for %s s. Start a worker whose profile matches, or "
                "give the target a fallback",
                text,
                waiting,
                age // 1000,
                extra={"queue": self.shown_queues},
            )
            emit(kind, text, waiting)
        elif kind == "rights":
            log_rights(self, text.split())
        elif kind == "warning":
            LOG.warning("%s", text, extra={"queue": self.shown_queues})
        elif kind == "notice":
            LOG.info("%s", text, extra={"queue": self.shown_queues})
        elif kind == "lock_lost":
            token, _, job_id = text.partition(" ")
            of = queue_of(self._unfinished(), job_id, token)
            lost = JobLockMissingError(f"could not renew lock for job {self.shown_job(job_id, of)}")
            LOG.warning("%s", lost, extra={"job_id": job_id, "queue": of or self.shown_queues})
            self._cancel(job_id, token)
            emit("lock_renewal_failed", [job_id])
            emit("error", lost)
        elif kind == "error":
            LOG.error("%r: %s", self, text)
            emit(kind, BullrushError(text))
        elif kind == "reconnecting":
            self._log_outage(text)
            emit("error", ConnectionLostError(text))
        elif kind == "connected":
            self._outage = frozenset()
            # A warning as well: whoever saw that Redis was gone sees that it is back.
            LOG.warning("%r: connected to Redis at %s", self, address(self._url))
        elif kind == "evicts":
            LOG.warning(
                "Redis at %s deletes keys when its memory is full, and then jobs are lost: set maxmemory-policy to "
                "noeviction (it is %s)",
                address(self._url),
                text,
                extra={"queue": self.shown_queues},
            )
        elif kind == "checks_skipped":
            LOG.warning(
                "%s of 100 checks for stalled jobs of queue %r were skipped, since the ones before took too long: raise "
                "stalled_interval, or see why Redis is slow",
                text,
                self.shown_queues,
                extra={"queue": self.shown_queues},
            )
        elif kind == "dropped":
            LOG.warning("%r: %s events were dropped: its listeners are too slow", self, text)
        elif kind == "ready" or kind == "drained":
            if kind == "ready":
                self._log_ready()
            emit(kind)

    def _log_outage(self, reason: str) -> None:
        """Log that Redis cannot be reached, once until it can be; also if it answers now and refuses, as with NOAUTH."""
        first = reason.partition(" ")[0]
        code = first if first.isupper() else ""
        level = logging.DEBUG if code in self._outage else logging.WARNING
        self._outage |= {code}
        text = "%r: cannot reach Redis at %s (%s). The worker tries again until it can"
        LOG.log(level, text, self, address(self._url), reason)

    def _report_job(self, record: JobRecord, event: WorkerEvent) -> None:
        kind, _, text, (number, next_run_at), stacktrace, details, class_name = event
        if not self._wants_outcomes():
            self._report_outcomes(wanted=False)
            # A listener may have been added in between.
            self._report_outcomes(wanted=self._wants_outcomes())
        # Without details no handler got the job.
        job, error = details if isinstance(details, tuple) else (details, None)
        if job is None:
            job = self._job_type(record, self if self.sources is None else self.sources.of(record))
        if kind == "refused":
            self._emit_for_job("active", job)
        elif kind == "completed":
            job.completed(text.encode(), number)
            self._emit_for_job(kind, job, decode(text, "returnvalue", record.id))
        elif stacktrace is not None:
            if kind == "retried":
                job.retried(text, stacktrace, number)
                log_retrying(job, text, next_run_at)
            else:
                job.failed(text, stacktrace, number)
                log_failed(job, text, error, stacktrace)
            reported = of_class(class_name or JobFailedError.__name__, text) if error is None else error
            if self._telemetry is not None:
                trace_failure(self._telemetry, job, reported, text, number if kind == "retried" else None)
            self._emit_for_job("failed", job, reported)
            if kind == "retried":
                self._emit_for_job("retrying", job, reported, next_run_at)

    def _cancel(self, job_id: str, token: str) -> None:
        """Stop the handler of the job that was taken under this token."""

    def _log_ready(self) -> None:
        """Log that a run has found its server and its queue."""

    def _unfinished(self) -> list[JobRecord]:
        """Return the jobs that handlers have, without those that have an outcome."""
        return []
