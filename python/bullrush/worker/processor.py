"""Runs the handler on jobs and gives the results or failures to the core."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic

from bullrush.base.cancellation import ended_from_outside
from bullrush.base.operation import run_async, run_blocking
from bullrush.errors import BullrushError, ClosedError, JobCancelledError
from bullrush.job.context import RUNNING
from bullrush.job.failure import INDESCRIBABLE, decide_retry, has_moved, is_interrupt, is_rate_limit
from bullrush.job.job import JobT
from bullrush.values.encoding import JSON, NULL, encode
from bullrush.worker.handlers.dispatch import UNKNOWN_DELAY, PostponedError

if TYPE_CHECKING:
    from bullrush._core import CoreWorker, JobRecord
    from bullrush.job.owner import JobOwner, JobWorker

_log: Final = logging.getLogger("bullrush")
#: So many starts of a job that counted as no attempt are no reason to wait before the next one, and then so many ms
#: are: a handler that cancels its own task would run again and again.
_RETURNS_AT_ONCE: Final = 3
_LATER_MS: Final = 1_000
_CANCELLED_AGAIN: Final = (
    "Job %s: its task was cancelled again, and not by its worker or queue. "
    "No attempt is counted; it runs again in %.0f s"
)


class NotStartedError(BullrushError):
    """The handler of a job cannot be started here: the job goes back to the queue."""


class Processor(Generic[JobT]):
    """Runs the handler on the records of jobs, and completes or fails the jobs.

    No exception of a handler stops the worker.

    Each call returns None, or an exception that ends the run: Ctrl-C in the main thread.
    """

    def __init__(
        self,
        core: CoreWorker,
        function: Callable[..., Any],
        job_type: Callable[[JobRecord, JobOwner], JobT],
        worker: JobWorker,
    ) -> None:
        self._core = core
        self._function = function
        self._job_type = job_type
        self._worker = worker
        self._active_listeners = worker._listeners_of("active")
        self._completed_listeners = worker._listeners_of("completed")
        self._failed_listeners = worker._listeners_of("failed")

    def run_each(self, records: list[JobRecord]) -> BaseException | None:
        """Run jobs one after another on this thread."""
        end = None
        function, job_type, source = self._function, self._job_type, self._worker
        complete, on_active = self._core.complete, self._active_listeners
        on_completed, on_failed = self._completed_listeners, self._failed_listeners
        for record in records:
            job = job_type(record, source)
            RUNNING.set(job)
            try:
                job._read()
                if on_active:
                    self._worker._job_started(job)
                value = function(job)
                result = NULL if value is None else encode(value, "returnvalue")
            except BaseException as error:
                end = self._fail(record, job, error) or end
            else:
                if job._discarded:
                    self._core.discard(record)
                try:
                    complete(record, result, job if on_completed or on_failed else None)
                except ClosedError:
                    self._log_dropped(record)
        RUNNING.set(None)
        return end

    async def run_one_async(self, records: list[JobRecord]) -> BaseException | None:
        """Run one job on the event loop."""
        (record,) = records
        job = self._job_type(record, self._worker)
        RUNNING.set(job)
        try:
            job._read()
            if self._active_listeners:
                self._worker._job_started(job)
            value = await self._function(job)
        except (asyncio.CancelledError, GeneratorExit) as error:
            failed: BaseException | None = self._give_back_if_stopped(record, job, error)
        except BaseException as error:
            failed = error
        else:
            failed = self._complete(record, job, value)
        return None if failed is None else await run_async(self._hand_in_failure(record, job, failed))

    def run_batch(self, records: list[JobRecord]) -> BaseException | None:
        """Run jobs as one batch on this thread."""
        batch = self._decode_batch(records)
        values: object = []
        try:
            if batch:
                values = self._function([job for _, job in batch])
        except BaseException as error:
            values = [error] * len(batch)
        end = None
        for record, job, failed in self._complete_batch(batch, values):
            end = self._fail(record, job, failed) or end
        return end

    async def run_batch_async(self, records: list[JobRecord]) -> BaseException | None:
        """Run jobs as one batch on the event loop."""
        batch = self._decode_batch(records)
        values: object = []
        try:
            if batch:
                values = await self._function([job for _, job in batch])
        except (asyncio.CancelledError, GeneratorExit) as error:
            batch = [
                (record, job) for record, job in batch if self._give_back_if_stopped(record, job, error) is not None
            ]
            values = [error] * len(batch)
        except BaseException as error:
            values = [error] * len(batch)
        end = None
        for record, job, failed in self._complete_batch(batch, values):
            end = await run_async(self._hand_in_failure(record, job, failed)) or end
        return end

    def _decode_batch(self, records: list[JobRecord]) -> list[tuple[JobRecord, JobT]]:
        batch = []
        for record in records:
            job = self._job_type(record, self._worker)
            try:
                job._read()
                if self._active_listeners:
                    self._worker._job_started(job)
            except BaseException as error:
                self._fail(record, job, error)
            else:
                batch.append((record, job))
        return batch

    def _complete_batch(
        self, batch: Sequence[tuple[JobRecord, JobT]], values: object
    ) -> Iterator[tuple[JobRecord, JobT, BaseException]]:
        """Complete the jobs that have a result; yield the others, which the caller fails."""
        for (record, job), value in zip(batch, results_per_job(values, len(batch)), strict=True):
            raised = issubclass(type(value), BaseException)
            failed = value if raised else self._complete(record, job, value)
            if failed is not None:
                yield record, job, failed

    def _complete(self, record: JobRecord, job: JobT, value: JSON) -> BaseException | None:
        """Complete a job; if its result is not JSON, return the error that it fails with."""
        try:
            result = NULL if value is None else encode(value, "returnvalue")
        except BaseException as error:
            return error
        if job._discarded:
            self._core.discard(record)
        self._submit(
            record, self._core.complete, result, job if self._completed_listeners or self._failed_listeners else None
        )
        return None

    def _give_back_if_stopped(self, record: JobRecord, job: JobT, error: BaseException) -> BaseException | None:
        """Give back a job whose coroutine was cancelled from outside; otherwise return the error."""
        if record.cancel_reason is not None or not ended_from_outside(error):
            return error
        if job.attempts_started - job.attempts_made <= _RETURNS_AT_ONCE:
            self._submit(record, self._core.give_back)
        else:
            shown = self._worker._shown_job(record.id, record.queue_name)
            _log.warning(
                _CANCELLED_AGAIN, shown, _LATER_MS / 1_000, extra={"job_id": record.id, "queue": record.queue_name}
            )
            self._submit(record, self._core.defer, _LATER_MS)
        return None

    def _fail(self, record: JobRecord, job: JobT, error: BaseException) -> BaseException | None:
        return run_blocking(self._hand_in_failure(record, job, error))

    async def _hand_in_failure(self, record: JobRecord, job: JobT, error: BaseException) -> BaseException | None:
        """Fail or retry a job whose handler raised; return the exception if it ends the run.

        It is part of an operation.
        """
        if is_interrupt(error):
            self._submit(record, self._core.give_back)
            return error
        try:
            submit, arguments = await self._failure_call(record, job, error)
        except BaseException:
            # Reading the exception runs user code.
            submit, arguments = self._core.fail, (INDESCRIBABLE, "", True, None)
        self._submit(record, submit, *arguments)
        return None

    def _submit(self, record: JobRecord, submit: Callable[..., None], *arguments: object) -> None:
        try:
            submit(record, *arguments)
        except ClosedError:
            self._log_dropped(record)

    async def _failure_call(
        self, record: JobRecord, job: JobT, error: BaseException
    ) -> tuple[Callable[..., None], Any]:
        if record.cancel_reason is not None and issubclass(type(error), asyncio.CancelledError):
            error = JobCancelledError(record.cancel_reason)
        if issubclass(type(error), NotStartedError):
            return self._core.give_back, ()
        if issubclass(type(error), PostponedError):
            return self._core.defer, (UNKNOWN_DELAY,)
        if has_moved(error):
            return self._core.release, ()
        if is_rate_limit(error):
            return self._core.rate_limited, ()
        backoff_type, strategy = self._core.needs_strategy(record), self._worker._backoff_strategy
        return self._core.fail, (
            await decide_retry(job, error, backoff_type, strategy, self._worker._classifiers(record.name)),
            (job, error),
        )

    def _log_dropped(self, record: JobRecord) -> None:
        _log.warning(
            "Job %s ended after the worker's deadline to close: its result is dropped and another worker will run it "
            "again",
            self._worker._shown_job(record.id, record.queue_name),
            extra={"job_id": record.id, "queue": record.queue_name},
        )


def results_per_job(values: object, count: int) -> Sequence[Any]:
    """Return the results of a batch, one per job; if there are not as many, one error per job."""
    try:
        if isinstance(values, Sequence) and len(values) == count:
            return list(values)
        got = len(values) if isinstance(values, Sequence) else type(values).__name__
        wrong: BaseException = TypeError(
            f"batch_handler must return a list with one result per job: {count} jobs, got {got}"
        )
    except BaseException as error:  # `values` may be of a user's class
        wrong = error
    return [wrong] * count
