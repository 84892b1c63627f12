"""A worker: runs a handler for each job of a queue."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final

from bullrush.base.closing import BlockingContext
from bullrush.base.listeners import EarlyListeners
from bullrush.base.operation import options_by_name
from bullrush.job.calls.moves import AttemptResult
from bullrush.job.context import RUNNING
from bullrush.job.job import AsyncJob, Job
from bullrush.scheduler.scheduler import JobScheduler
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.worker.base import EVENTS
from bullrush.worker.handlers.signature import is_async
from bullrush.worker.manual import ManualCalls
from bullrush.worker.monitoring.calls import MonitorCalls
from bullrush.worker.options import Handler, WorkerOptions
from bullrush.worker.routes import HandlerSource
from bullrush.worker.run_calls import HORIZON, RunCalls, Until
from bullrush.worker.running.loops import LoopThreadRunner
from bullrush.worker.running.run import RunStats, WorkerRun
from bullrush.worker.running.signals import any_handler, closes_on_signals, ignores_signals

if TYPE_CHECKING:
    from typing_extensions import Unpack

_log: Final = logging.getLogger("bullrush")


class Worker(BlockingContext, RunCalls[Job], ManualCalls[Job], MonitorCalls[Job]):
    """Runs a handler for each job of a queue. Its calls block; `bullrush.aio.Worker` has the same calls to be awaited.

    Events and the arguments of their listeners (see `on`): ``ready()``, ``active(job)``, ``progress(job, progress)``,
    ``completed(job, result)``, ``failed(job, error)`` after every failed attempt, ``retrying(job, error, next_run_at)``
    after it if the job runs again (ms since 1970), ``stalled(job_id)``, ``drained()``,
    ``paused()``, ``resumed()``, ``scheduler_repaired(scheduler_id)``, ``route_unmatched(route, waiting)``,
    ``lock_renewal_failed(job_ids)``, ``error(error)``, ``closing()``, ``closed()``.

    Listeners run on the thread that runs the worker; those of ``active`` and ``progress`` run on the thread of the
    handler. They get the job with the changes that its handler made.

    Options: see `bullrush.worker.WorkerOptions`.
    """

    _job_type = Job
    _loop_runner = LoopThreadRunner

    @options_by_name
    def __init__(
        self,
        queue_name: str | HandlerSource,
        handler: Handler | Mapping[str, Handler] | None = None,
        **options: Unpack[WorkerOptions],
    ) -> None:
        super().__init__(queue_name, handler, **options)
        if self._settings.autorun:
            # Jobs may finish before the next statement of the program, which adds the first listener.
            self._made_listeners = EarlyListeners(EVENTS)
            run = self._start_fetching(None, None, None, HORIZON)
            background = threading.Thread(
                target=self._run_in_background, args=(run,), name=f"bullrush-{self._name}", daemon=False
            )
            try:
                background.start()
            except BaseException as error:
                run.end_with(error)
                run.supervise()

    def run(
        self,
        *,
        until: Until | None = None,
        max_jobs: int | None = None,
        max_seconds: float | timedelta | None = None,
        horizon: Duration = HORIZON,
        signals: bool = True,
    ) -> RunStats:
        """Run jobs until the worker is closed, or until a condition in the arguments is met.

        In the main thread, SIGTERM and SIGINT close this and all other workers of the process: the first signal
        gracefully, a second one by force.

        Args:
            until: ``empty``: return when there is nothing to fetch and nothing runs here. ``drained``: also, no job is
                active on any worker, and none is due within ``horizon``.
            max_jobs: return after this number of jobs.
            max_seconds: return after this time in seconds.
            horizon: ms, for ``until="drained"``.
            signals: False sets no signal handlers: signals do not close this worker.

        Returns:
            How many jobs completed, failed and were retried, and the time it took.

        Raises:
            RuntimeError: the worker runs already, or has no handler.
            ClosedError: the worker was closed.
        """
        closing = closes_on_signals if checks.boolean("signals", signals) else ignores_signals
        run = self._start_fetching(until, max_jobs, max_seconds, horizon)
        with closing(run, any_handler):
            self._work(run)
        return run.stats()

    @cached_property
    def job_scheduler(self) -> JobScheduler:
        """The job schedulers of the worker's queue, as an object of their own."""
        return JobScheduler(self._name, url=self._url, prefix=self._prefix)

    def process_job(self, job: Job, token: str | None = None, *, fetch_next: bool = False) -> AttemptResult[Job]:
        """Run the handler on a job from `get_next_job`, and complete or fail the job with the result.

        Args:
            job: the job.
            token: the lock token; the job's own by default.
            fetch_next: take the next job in the same round trip, unless this one is retried.

        Returns:
            The outcome, when the job runs again if it is retried, and the next job: None if there is none now or
            ``fetch_next`` is not set.

        Raises:
            ConnectionLostError, OutcomeUnknownError: Redis was away for too long to store the outcome, or to learn
                whether it is stored. If it is not, the job runs again when its lock has expired.
            RuntimeError: the worker has no handler for single jobs.
        """
        function = self._handler(job)
        value, error = None, None
        handler_job = job._as_type(AsyncJob if is_async(function) else Job)
        running = RUNNING.set(handler_job)
        try:
            self._prepare_to_run(job)
            value = asyncio.run(function(handler_job)) if is_async(function) else function(handler_job)
        except BaseException as raised:
            error = raised
        finally:
            RUNNING.reset(running)
        job._copy_changes(handler_job)
        return self._finish_job(job, token, value, error, fetch_next)

    def _work(self, run: WorkerRun) -> None:
        source = self._handlers.source
        with contextlib.ExitStack() as lifespan:
            try:
                # A loop of its own enters and leaves the block itself.
                if source is not None and not isinstance(run.runner, LoopThreadRunner):
                    lifespan.enter_context(source.running(self))
            except BaseException as error:
                run.end_with(error)
            run.start_handlers()
            run.supervise()

    def _run_in_background(self, run: WorkerRun) -> None:
        try:
            with closes_on_signals(run):
                self._work(run)
        except BaseException:
            _log.exception("%r stopped with an error", self)
