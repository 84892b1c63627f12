"""Runs a handler inside a span that continues the trace of the job's producer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bullrush._core import now_ms
from bullrush.job.failure import has_moved, is_rate_limit
from bullrush.job.job import JobCalls
from bullrush.telemetry.protocol import Span, Telemetry
from bullrush.telemetry.spans import as_json
from bullrush.values.encoding import JSON
from bullrush.worker.handlers.signature import is_async

if TYPE_CHECKING:
    from bullrush.job.owner import JobWorker


class TracedHandler:
    """Wraps a handler so that each call runs inside a span, on threads and in tasks."""

    def __init__(self, telemetry: Telemetry, worker: JobWorker, worker_name: str | None) -> None:
        self._telemetry = telemetry
        self._worker = worker
        self._attributes: dict[str, Any] = {
            "bullmq.queue.operation": "process",
            **({"bullmq.worker.name": worker_name} if worker_name else {}),
        }

    def wrap(self, function: Callable[..., Any], *, is_batch: bool) -> Callable[..., Any]:
        """Return a function of the same kind with a span around each call."""
        open_span = self._batch if is_batch else self._one
        note = _note_batch if is_batch else _note_completed

        def call(jobs: Any, *arguments: Any) -> Any:
            with open_span(jobs) as span:
                value = function(jobs, *arguments)
                note(span, jobs, value)
            return value

        async def call_async(jobs: Any, *arguments: Any) -> Any:
            with open_span(jobs) as span:
                value = await function(jobs, *arguments)
                note(span, jobs, value)
            return value

        return call_async if is_async(function) else call

    @contextmanager
    def _one(self, job: JobCalls) -> Iterator[Span]:
        moved: BaseException | None = None
        attributes = {
            "bullmq.queue.name": job.queue_name,
            **self._attributes,
            "bullmq.worker.id": self._worker.id,
            "bullmq.job.id": job.id,
            "bullmq.job.name": job.name,
            "bullmq.job.attempts.made": job.attempts_made,
            "bullmq.job.processed.timestamp": job.processed_on or now_ms(),
        }
        with self._telemetry.span(f"process {job.queue_name}", "consumer", attributes, parent=_origin(job)) as span:
            try:
                yield span
            except BaseException as error:
                if has_moved(error) or is_rate_limit(error):
                    moved = error  # not a failure of the job
                else:
                    span.add_event("job failed", {"bullmq.job.failed.reason": _reason(error)})
                    raise
            finally:
                span.set_attributes({"bullmq.job.finished.timestamp": now_ms()})
        if moved is not None:
            raise moved

    @contextmanager
    def _batch(self, jobs: Sequence[JobCalls]) -> Iterator[Span]:
        """Open one span for all jobs, with links to their producers, since a span has only one parent."""
        attributes = {
            "bullmq.queue.name": self._worker.name,
            **self._attributes,
            "bullmq.worker.id": self._worker.id,
            "bullmq.job.bulk.count": len(jobs),
            "bullmq.job.ids": [job.id for job in jobs],
        }
        origins = [origin for job in jobs if (origin := _origin(job))]
        with self._telemetry.span(
            f"process {self._worker.name}", "consumer", attributes, parent="", links=origins
        ) as span:
            yield span


def trace_failure(telemetry: Telemetry, job: JobCalls, error: BaseException, reason: str, delay: int | None) -> None:
    """Open and close a span that says what became of a failed attempt, in the trace of the job's producer.

    Args:
        telemetry: the tracer.
        job: the job after the attempt.
        error: the error of the attempt, also one that no handler raised, such as a stalled job's.
        reason: the reason that Redis stores.
        delay: ms until the next attempt; None if the job has failed for good.
    """
    queue, operation = job.queue_name, "fail" if delay is None else "retry"
    attributes = {
        "bullmq.queue.name": queue,
        "bullmq.queue.operation": operation,
        "bullmq.job.id": job.id,
        "bullmq.job.name": job.name,
        "bullmq.job.attempts.made": job.attempts_made,
        "bullmq.job.failed.reason": reason,
        **({} if delay is None else {"bullmq.job.delay": delay}),
    }
    with telemetry.span(f"{operation} {queue}", "internal", attributes, parent=_origin(job)) as span:
        if delay is None:
            span.record_exception(error)


def _origin(job: JobCalls) -> str:
    """Return the trace context that is stored with a job, or an empty text."""
    telemetry = job.opts.get("telemetry") or {}
    metadata = telemetry.get("metadata")
    return metadata if isinstance(metadata, str) else ""


def _note_completed(span: Span, _: JobCalls, value: JSON) -> None:
    span.add_event("job completed", {"bullmq.job.result": as_json(value)})


def _note_batch(span: Span, jobs: Sequence[JobCalls], values: object) -> None:
    if isinstance(values, Sequence):
        for job, value in zip(jobs, values, strict=False):
            if isinstance(value, BaseException):
                span.add_event("job failed", {"bullmq.job.id": job.id, "bullmq.job.failed.reason": _reason(value)})
            else:
                span.add_event("job completed", {"bullmq.job.id": job.id, "bullmq.job.result": as_json(value)})


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
