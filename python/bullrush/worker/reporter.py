"""Reports the events of a run: the core sends them, listeners and the log get them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from bullrush.errors import BullrushError, ConnectionLostError, JobFailedError, JobLockMissingError, of_class
from bullrush.url import address
from bullrush.values.encoding import decode
from bullrush.worker.base import WorkerBase
from bullrush.worker.lanes.held import queue_of
from bullrush.worker.logs import LOG, log_failed, log_retrying, log_rights, log_start
from bullrush.worker.tracing import trace_failure

if TYPE_CHECKING:
    from bullrush._core import JobRecord, WorkerEvent


class Reporter:
    """Reports what happens in one run of a worker."""

    def __init__(self, worker: WorkerBase[Any]) -> None:
        self._worker = worker
        #: Why the run cannot reach Redis, as logged: the codes of Redis' errors, or "" for no answer; empty while it
        #: can.
        self._outage: frozenset[str] = frozenset()

    def report(self, event: WorkerEvent | None) -> None:
        """Emit an event of the core, and log it without payloads. None means that there was no event for a while."""
        worker = self._worker
        if event is None:
            worker._listeners.expire()
        elif event.record is not None:
            self._report_job(event.record, event)
        elif (report := getattr(self, f"_{event.kind}", None)) is not None:
            report(event)

    def _log(self, text: str, *arguments: object, level: int = logging.WARNING) -> None:
        LOG.log(level, text, *arguments, extra={"queue": self._worker._shown_queues})

    def _stalled(self, event: WorkerEvent) -> None:
        shown = self._worker._shown_job(event.id, event.queue)
        fields = {"job_id": event.id, "queue": event.queue}
        LOG.warning("Job %s had stalled: its worker stopped renewing its lock", shown, extra=fields)
        self._worker.emit("stalled", event.id)

    def _cancelled(self, event: WorkerEvent) -> None:
        if self._worker._run is not None:
            self._worker._run.runner.cancel(event.id, event.token)

    def _lock_lost(self, event: WorkerEvent) -> None:
        worker = self._worker
        queue = queue_of(worker._unfinished(), event.id, event.token)
        lost = JobLockMissingError(f"could not renew lock for job {worker._shown_job(event.id, queue)}")
        LOG.warning("%s", lost, extra={"job_id": event.id, "queue": queue or worker._shown_queues})
        self._cancelled(event)
        worker.emit("lock_renewal_failed", [event.id])
        worker.emit("error", lost)

    def _scheduler_repaired(self, event: WorkerEvent) -> None:
        LOG.warning("Job scheduler %s had no next job: it was made again", event.id)
        self._worker.emit("scheduler_repaired", event.id)

    def _route_unmatched(self, event: WorkerEvent) -> None:
        self._log(
            "No worker takes the jobs of route %r: %s wait, the oldest for %s s. Start a worker whose profile matches, "
            "or give the target a fallback",
            event.queue,
            event.count,
            event.age // 1000,
        )
        self._worker.emit("route_unmatched", event.queue, event.count)

    def _rights(self, event: WorkerEvent) -> None:
        log_rights(self._worker, event.rights)

    def _warning(self, event: WorkerEvent) -> None:
        self._log("%s", event.text)

    def _notice(self, event: WorkerEvent) -> None:
        self._log("%s", event.text, level=logging.INFO)

    def _error(self, event: WorkerEvent) -> None:
        LOG.error("%r: %s", self._worker, event.text)
        self._worker.emit("error", BullrushError(event.text))

    def _reconnecting(self, event: WorkerEvent) -> None:
        """Log that Redis cannot be reached, once until it can be.

        Also if it answers now and refuses, as with NOAUTH.
        """
        level = logging.DEBUG if event.code in self._outage else logging.WARNING
        self._outage |= {event.code}
        then = "The worker ends" if event.ends else "The worker tries again until it can"
        LOG.log(
            level, "%r: cannot reach Redis at %s (%s). %s", self._worker, address(self._worker._url), event.text, then
        )
        self._worker.emit("error", ConnectionLostError(event.text))

    def _connected(self, _event: WorkerEvent) -> None:
        self._outage = frozenset()
        # A warning as well: whoever saw that Redis was gone sees that it is back.
        LOG.warning("%r: connected to Redis at %s", self._worker, address(self._worker._url))

    def _evicts(self, event: WorkerEvent) -> None:
        self._log(
            "Redis at %s deletes keys when its memory is full, and then jobs are lost: set maxmemory-policy to "
            "noeviction (it is %s)",
            address(self._worker._url),
            event.text,
        )

    def _checks_skipped(self, event: WorkerEvent) -> None:
        self._log(
            "%s of 100 checks for stalled jobs of queue %r were skipped, since the ones before took too long: raise "
            "stalled_interval, or see why Redis is slow",
            event.count,
            self._worker._shown_queues,
        )

    def _dropped(self, event: WorkerEvent) -> None:
        LOG.warning("%r: %s events were dropped: its listeners are too slow", self._worker, event.count)

    def _ready(self, _event: WorkerEvent) -> None:
        log_start(self._worker, self._worker._url, self._worker._concurrency)
        self._worker.emit("ready")

    def _drained(self, _event: WorkerEvent) -> None:
        self._worker.emit("drained")

    def _report_job(self, record: JobRecord, event: WorkerEvent) -> None:
        worker = self._worker
        if not worker._wants_outcomes() and (run := worker._current) is not None:
            run.core.report_outcomes(False)
            # A listener may have been added in between.
            run.core.report_outcomes(worker._wants_outcomes())
        # Without details no handler got the job.
        job, error = event.details if isinstance(event.details, tuple) else (event.details, None)
        if job is None:
            job = worker._job_type(record, worker if worker._sources is None else worker._sources.of(record))
        if event.kind == "refused":
            worker._emit_for_job("active", job)
        elif event.kind == "completed":
            job._set_completed(event.text.encode(), event.finished_on)
            worker._emit_for_job("completed", job, decode(event.text, "returnvalue", record.id))
        else:
            self._report_failure(job, error, event)

    def _report_failure(self, job: Any, error: BaseException | None, event: WorkerEvent) -> None:
        worker, reason = self._worker, event.text
        delay = event.delay if event.kind == "retried" else None
        if delay is None:
            job._set_failed(reason, event.stacktrace, event.finished_on)
            log_failed(job, reason, error, event.stacktrace)
        else:
            job._set_retried(reason, event.stacktrace, delay)
            log_retrying(job, reason, event.next_run_at)
        reported = of_class(event.error_class or JobFailedError.__name__, reason) if error is None else error
        if worker._telemetry is not None:
            trace_failure(worker._telemetry, job, reported, reason, delay)
        worker._emit_for_job("failed", job, reported)
        if delay is not None:
            worker._emit_for_job("retrying", job, reported, event.next_run_at)
