"""A worker that runs in the caller's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

from bullrush.aio.job import Job
from bullrush.aio.scheduler import JobScheduler
from bullrush.base.closing import AsyncContext
from bullrush.base.completions import result_of
from bullrush.base.listeners import LoopListeners
from bullrush.base.operation import options_by_name
from bullrush.job.calls.moves import AttemptResult
from bullrush.job.context import RUNNING
from bullrush.job.job import Job as BlockingJob
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.worker.handlers.signature import is_async
from bullrush.worker.manual import ManualCalls
from bullrush.worker.monitoring.calls import MonitorCalls
from bullrush.worker.options import Handler, WorkerOptions
from bullrush.worker.routes import HandlerSource
from bullrush.worker.run_calls import HORIZON, RunCalls, Until
from bullrush.worker.running.loops import LoopRunner
from bullrush.worker.running.run import RunStats, WorkerRun
from bullrush.worker.running.signals import closes_on_signals, has_default_handler, ignores_signals

if TYPE_CHECKING:
    from typing_extensions import Unpack


_log: Final = logging.getLogger("bullrush")


class Worker(AsyncContext, RunCalls[Job], ManualCalls[Job], MonitorCalls[Job]):
    """A worker for asyncio: `bullrush.Worker` with its calls awaited.

    Coroutine functions run as tasks of the loop that awaits `run`, plain functions on threads. Listeners are called on
    that loop and may be coroutine functions.
    """

    _job_type = Job
    _loop_runner = LoopRunner
    _new_listeners = LoopListeners

    @options_by_name
    def __init__(
        self,
        queue_name: str | HandlerSource,
        handler: Handler | Mapping[str, Handler] | None = None,
        **options: Unpack[WorkerOptions],
    ) -> None:
        super().__init__(queue_name, handler, **options)
        if self._settings.autorun:
            self._background = asyncio.get_running_loop().create_task(self._run_in_background())

    async def run(
        self,
        *,
        until: Until | None = None,
        max_jobs: int | None = None,
        max_seconds: float | timedelta | None = None,
        horizon: Duration = HORIZON,
        signals: bool = True,
    ) -> RunStats:
        """Run jobs; see `bullrush.Worker.run`.

        Cancelling this call closes the worker: gracefully at first, by force if it is cancelled again.

        Signals are handled only if they have the default handlers of Python or `asyncio.run`: a web server keeps its
        own.

        Args:
            until: see `bullrush.Worker.run`.
            max_jobs: see `bullrush.Worker.run`.
            max_seconds: see `bullrush.Worker.run`.
            horizon: see `bullrush.Worker.run`.
            signals: False installs no handlers of signals.
        """
        closing = closes_on_signals if checks.boolean("signals", signals) else ignores_signals
        run = self._start_fetching(until, max_jobs, max_seconds, horizon)
        with closing(run, has_default_handler):
            return await self._work(run)

    async def _work(self, run: WorkerRun) -> RunStats:
        listeners = cast("LoopListeners", self._listeners)
        listeners.attach()
        source = self._handlers.source
        async with contextlib.AsyncExitStack() as lifespan:
            try:
                if source is not None:
                    await lifespan.enter_async_context(source.arunning(self))
            except BaseException as error:
                run.end_with(error)
            await _supervised(run)
        if not run.overdue:
            await listeners.wait_for_coroutines()
        return run.stats()

    async def _run_in_background(self) -> None:
        run = self._start_fetching(None, None, None, HORIZON)
        with closes_on_signals(run):
            try:
                await self._work(run)
            except Exception:
                _log.exception("%r stopped with an error", self)

    @cached_property
    def job_scheduler(self) -> JobScheduler:
        """The job schedulers of the worker's queue, as an object of their own."""
        return JobScheduler(self._name, url=self._url, prefix=self._prefix)

    async def process_job(self, job: Job, token: str | None = None, *, fetch_next: bool = False) -> AttemptResult[Job]:
        """Run the handler on a job; see `bullrush.Worker.process_job`.

        Args:
            job: a job of `get_next_job`.
            token: the lock token; the job's own by default.
            fetch_next: take the next job in the same round trip, unless this one is retried.
        """
        function = self._handler(job)
        value, error = None, None
        handler_job = job._as_type(Job if is_async(function) else BlockingJob)
        running = RUNNING.set(handler_job)
        try:
            self._prepare_to_run(job)
            if is_async(function):
                value = await function(handler_job)
            else:
                value = await asyncio.to_thread(function, handler_job)
        except BaseException as raised:
            error = raised
        finally:
            RUNNING.reset(running)
        job._copy_changes(handler_job)
        return await self._finish_job(job, token, value, error, fetch_next)


async def _supervised(run: WorkerRun) -> None:
    """Supervise a run on its own thread, which may block, and wait for the end."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def end(error: BaseException | None) -> None:
        if error is None:
            ended.set_result(None)
        else:
            ended.set_exception(error)

    def supervise() -> None:
        error: BaseException | None = None
        try:
            run.supervise()
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop may be gone
            loop.call_soon_threadsafe(end, error)

    try:
        threading.Thread(target=supervise, name="bullrush-run", daemon=False).start()
    except BaseException as error:
        # Without the thread the run cannot work: it ends before it starts.
        run.end_with(error)
        await result_of(run.core_end())
        run.supervise()
    run.start_handlers()
    try:
        await asyncio.shield(ended)
    except asyncio.CancelledError:
        run.begin_close()
        try:
            await asyncio.shield(ended)
        except asyncio.CancelledError:
            run.begin_close(0, force=True)
            await asyncio.shield(ended)
        raise
    finally:
        # Also when this coroutine is closed without being resumed.
        run.begin_close()
