"""Runs the user's function on jobs and hands what comes out of it to the core."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from collections.abc import Callable, Sequence, Sized
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol

from bullrush.encoding import JSON, NULL, encode
from bullrush.errors import ClosedError, JobCancelledError, MalformedJobError
from bullrush.failure import decide, describe, has_moved, is_rate_limit
from bullrush.inspection import JobT
from bullrush.job import JobCalls
from bullrush.worker_options import BackoffStrategy

if TYPE_CHECKING:
    from bullrush._core import CoreWorker, JobRecord
    from bullrush.record import Source

_log: Final = logging.getLogger("bullrush")


def is_async(function: Callable[..., object]) -> bool:
    """Tell whether calling a function returns a coroutine, also through `functools.partial` or ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


class Observer(Protocol):
    """Who wants to know about jobs: the worker."""

    @property
    def backoff_strategy(self) -> BackoffStrategy | None:
        """The custom backoff strategy."""

    def watched(self) -> Sized:
        """Return something that is not empty while `job_started` is wanted."""

    def job_started(self, job: JobCalls) -> None:
        """Take note that a handler is about to get a job."""

    def job_failed(self, job: JobCalls, error: BaseException) -> None:
        """Take note of what a handler raised."""


class Processor(Generic[JobT]):
    """Takes records from the core through the handler to an outcome. It never raises: whatever a job does, the worker goes on."""

    def __init__(
        self,
        core: CoreWorker,
        function: Callable[..., Any],
        job_type: Callable[[JobRecord, Source], JobT],
        source: Source,
        observer: Observer,
    ) -> None:
        self._core = core
        self._function = function
        self._job_type = job_type
        self._source = source
        self._observer = observer
        self._watched = observer.watched()

    def run_each(self, records: list[JobRecord]) -> None:
        """Run jobs one after another on this thread."""
        function, job_type, source = self._function, self._job_type, self._source
        complete, watched = self._core.complete, self._watched
        for record in records:
            job = job_type(record, source)
            try:
                job.read()
                if watched:
                    self._observer.job_started(job)
                value = function(job)
                result = NULL if value is None else encode(value, "returnvalue")
            except BaseException as error:
                self._fail(record, job, error)
            else:
                try:
                    complete(record, result)
                except ClosedError:
                    self._too_late(record)

    async def run_one_async(self, records: list[JobRecord]) -> None:
        """Run one job on the event loop."""
        (record,) = records
        job = self._job_type(record, self._source)
        try:
            job.read()
            if self._watched:
                self._observer.job_started(job)
            value = await self._function(job)
        except BaseException as error:
            self._fail(record, job, error)
        else:
            self._complete(record, job, value)

    def run_batch(self, records: list[JobRecord]) -> None:
        """Run jobs as one batch on this thread."""
        batch = self._readable(records)
        if batch:
            try:
                values = self._function([job for _, job in batch])
            except BaseException as error:
                values = [error] * len(batch)
            self._complete_batch(batch, values)

    async def run_batch_async(self, records: list[JobRecord]) -> None:
        """Run jobs as one batch on the event loop."""
        batch = self._readable(records)
        if batch:
            try:
                values = await self._function([job for _, job in batch])
            except BaseException as error:
                values = [error] * len(batch)
            self._complete_batch(batch, values)

    def _readable(self, records: list[JobRecord]) -> list[tuple[JobRecord, JobT]]:
        batch = []
        for record in records:
            job = self._job_type(record, self._source)
            try:
                job.read()
            except MalformedJobError as error:
                self._fail(record, job, error)
            else:
                if self._watched:
                    self._observer.job_started(job)
                batch.append((record, job))
        return batch

    def _complete_batch(self, batch: Sequence[tuple[JobRecord, JobT]], values: object) -> None:
        if not isinstance(values, Sequence) or len(values) != len(batch):
            count = len(values) if isinstance(values, Sequence) else type(values).__name__
            wrong = TypeError(
                f"batch_handler must return a list with one result per job: {len(batch)} jobs, got {count}"
            )
            values = [wrong] * len(batch)
        for (record, job), value in zip(batch, values, strict=True):
            if isinstance(value, BaseException):
                self._fail(record, job, value)
            else:
                self._complete(record, job, value)

    def _complete(self, record: JobRecord, job: JobT, value: JSON) -> None:
        try:
            self._core.complete(record, NULL if value is None else encode(value, "returnvalue"))
        except ClosedError:
            self._too_late(record)
        except Exception as error:
            self._fail(record, job, error)

    def _fail(self, record: JobRecord, job: JobT, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError) and record.cancel_reason is not None:
            error = JobCancelledError(record.cancel_reason)
        try:
            if has_moved(error):
                self._core.release(record)
            elif is_rate_limit(error):
                self._core.rate_limited(record)
            else:
                if not record.settled:
                    self._observer.job_failed(job, error)
                self._core.fail(record, *self._failure(record, job, error))
        except ClosedError:
            self._too_late(record)
        except Exception:
            _log.exception("The failure of job %s could not be handed in", record.id)

    def _failure(self, record: JobRecord, job: JobT, error: BaseException) -> tuple[str, str, bool, int | None]:
        try:
            return decide(job, error, self._core.needs_strategy(record), self._observer.backoff_strategy)
        except Exception as undecided:
            return describe(undecided, retry=True)

    def _too_late(self, record: JobRecord) -> None:
        _log.warning("Job %s ended after the worker's deadline to close: another worker will run it again", record.id)
