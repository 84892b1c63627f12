"""The calls about the run of a worker: begin, pause, cancel, close."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar, Final, Literal

from bullrush._core import CoreWorker
from bullrush.base.operation import operation, reply, sleep
from bullrush.errors import InvalidOptionError
from bullrush.job.failure import CANCELLED
from bullrush.job.job import JobT
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.worker.base import WorkerBase
from bullrush.worker.lanes.held import ids_by_queue
from bullrush.worker.logs import log_close, log_many_slots, log_never_ran, log_without_effect, logs_failures
from bullrush.worker.manual import NO_FUNCTION
from bullrush.worker.option_checks import check_concurrency
from bullrush.worker.options import core_options
from bullrush.worker.running.loops import LoopRunner
from bullrush.worker.running.run import WorkerRun
from bullrush.worker.running.runner import Runner

#: The condition on which `Worker.run` returns.
Until = Literal["empty", "drained"]

_UNTIL: Final = frozenset({"empty", "drained"})
HORIZON: Final = 60_000
_POLL: Final = 0.005
#: Seconds that `close` waits for the listeners of the last events when its timeout is over.
_GRACE: Final = 0.1
#: Iterations of the event loop after which listeners were called and their coroutines have started.
_LOOP_ITERATIONS: Final = 2


class RunCalls(WorkerBase[JobT]):
    """The calls about the run of a worker."""

    _loop_runner: ClassVar[type[LoopRunner]]

    def _start_fetching(
        self, until: Until | None, max_jobs: int | None, max_seconds: float | timedelta | None, horizon: Duration
    ) -> WorkerRun:
        """Check the arguments of `run` and start fetching, in ``src/worker/engine/mod.rs::work``.

        The way there is ``src/bindings/worker/mod.rs::start``.
        Handlers start with `WorkerRun.start_handlers`.
        """
        # Imported here, since most programs run no worker: they start sooner.
        from bullrush.worker.lanes.sources import LaneSources
        from bullrush.worker.reporter import Reporter

        self._was_used = True
        if until is not None and until not in _UNTIL:
            raise InvalidOptionError(f"until must be None, 'empty' or 'drained', not {until!r}")
        max_jobs = None if max_jobs is None else checks.at_least(1)("max_jobs", max_jobs)
        max_seconds = None if max_seconds is None else checks.positive_seconds("max_seconds", max_seconds)
        horizon = checks.milliseconds("horizon", horizon)
        if not self._handlers:
            raise RuntimeError(NO_FUNCTION)
        with self._lock:
            if self._closing:
                raise self._closed_error()
            if self._run is not None and not self._run.finished:
                self._run.core.stats()  # in a forked child this raises an error that says so
                raise RuntimeError("Worker is already running.")
            if self._lanes or self._settings.profile is not None:
                self._sources = LaneSources(self._job_worker, self._core_of)
            core = self._new_core()
            self._runs += 1
            report = Reporter(self).report
            self._run = run = WorkerRun(core, self._new_runner(core), report, self._emit_closed, self._listeners)
            # Read after `_run` is set: a pause or a close in between either sees the run or is seen here.
            if self._paused:
                core.pause()
            core.report_outcomes(self._wants_outcomes())
            core.report_failures(logs_failures() or self._telemetry is not None)
            log_many_slots(self, self._concurrency)
            if not self._lanes:
                log_without_effect(self, self._settings)
            core.start(until=until, max_jobs=max_jobs, max_seconds=max_seconds, horizon=horizon)
            if self._core is not None:
                self._core.disconnect_worker()
            if self.closing:
                run.begin_close()
        return run

    def _emit_closed(self) -> None:
        if self._run is not None:
            core = self._run.core
            log_close(self, core.stats(), ids_by_queue(core.held_ids(), self._unfinished(), self._shown_queues))
        self.emit("closed")
        self._listeners.expire(now=True)

    def _new_core(self) -> CoreWorker:
        return CoreWorker(
            self._url,
            self._prefix,
            self._name,
            core_options(self._settings, self._handlers.timeouts, self._handlers.lock_durations, self._lanes),
            # Tokens are counted from 1 in each run, so each run needs its own id.
            worker_id=f"{self.id}.{self._runs}" if self._runs else self.id,
            concurrency=self._concurrency * self._settings.batch_size,
        )

    def _new_runner(self, core: CoreWorker) -> Runner:
        from bullrush.worker.running.choice import new_runner  # here, as in `_start_fetching`

        return new_runner(
            self._job_worker,
            core,
            self._handlers,
            self._settings,
            url=self._url,
            slots=self._concurrency,
            sources=self._sources,
            traced=self._traced,
            on_loop=self._loop_runner,
        )

    def cancel_job(self, job_id: str, reason: str | None = None) -> bool:
        """Cancel a running job: tell its handler to stop.

        The task of a coroutine function is cancelled, and a process is killed. A plain function sees ``job.cancelled``
        or calls `Job.check_cancelled`. The job then fails with the reason and is not retried, unless the handler raises
        another error or returns a result.

        Ids are per queue: in a worker of several queues this is the first such job that runs. `Queue.cancel_job` says
        which queue it means.

        Args:
            job_id: the job's id.
            reason: the reason with which the job fails.

        Returns:
            False if this worker does not run the job, or if it was cancelled before.
        """
        job_id, reason = checks.text("job_id", job_id), checks.text("reason", reason or CANCELLED)
        run = self._current
        return run is not None and run.core.cancel(job_id, reason)

    def cancel_all_jobs(self, reason: str | None = None) -> None:
        """Cancel all running jobs of this worker; see `cancel_job`.

        Args:
            reason: why; see `Job.cancel_reason`.
        """
        reason = checks.text("reason", reason or CANCELLED)
        if (run := self._current) is not None:
            for job_id in run.core.held_ids():
                run.core.cancel(job_id, reason)

    def is_running(self) -> bool:
        """Return whether the worker takes jobs or still has running ones.

        A paused worker without running jobs does not run.
        """
        run = self._current
        return run is not None and (not self._paused or bool(run.core.stats()["in_hand"]))

    def is_paused(self) -> bool:
        """Return whether this worker is paused."""
        return self._paused

    @property
    def concurrency(self) -> int:
        """How many jobs, or batches, run at the same time. It can be set while the worker runs."""
        return self._concurrency

    @concurrency.setter
    def concurrency(self, concurrency: int) -> None:
        checked = check_concurrency("concurrency", concurrency)
        with self._lock:  # a run that begins now either has the new number or is seen here
            self._concurrency = checked
            if (run := self._current) is not None:
                run.runner.resize(checked)
                log_many_slots(self, checked)

    @operation
    async def pause(self, do_not_wait_active: bool = False) -> None:
        """Pause this worker only: it takes no more jobs until `resume`. `Queue.pause` pauses all workers.

        Args:
            do_not_wait_active: return at once; by default wait until the running jobs have finished, or until
                somebody calls `resume`.
        """
        was_paused, self._paused = self._paused, True
        if (run := self._current) is not None:
            run.core.pause()
            while not do_not_wait_active and self._paused and self.is_running() and not run.is_inside():
                await sleep(_POLL)
        if self._paused and not was_paused:
            self.emit("paused")

    def resume(self) -> None:
        """Take jobs again after `pause`."""
        was_paused, self._paused = self._paused, False
        if (run := self._current) is not None:
            run.core.resume()
        if was_paused:
            self.emit("resumed")

    @operation
    async def close(self, force: bool = False, *, timeout: Duration | None = None) -> None:
        """Close the worker: take no more jobs, wait for the running ones, and let `run` return.

        Args:
            force: do not wait. Jobs in hand run again, on another worker, when their lock has expired.
            timeout: how long running jobs may go on, in ms. Those that have not finished then run again, as with
                ``force``. Jobs that have not started go back to the queue at once; for that a server that is slow
                gets one second more.
        """
        timeout_ms = None if timeout is None else checks.milliseconds("timeout", timeout)
        was_closed, self._closing = self._closing, True
        self._ended.set()
        ended = None if self._core is None else self._core.end_waits(hurries=force)
        run = self._run
        if run is None and not was_closed:
            # A worker that never ran has these events, too.
            if self._handlers and not self._was_used:
                log_never_ran(self)
            self.emit("closing")
            self.emit("closed")
        if run is None or run.finished:
            if ended is not None and not force:
                await reply(ended)
            return
        try:
            self.emit("closing")
        finally:
            run.begin_close(timeout_ms, force=force)
        grace = _GRACE
        while grace > 0 and not run.is_reported and not run.is_inside():
            await sleep(_POLL)
            grace -= _POLL if run.overdue else 0
        for _ in range(_LOOP_ITERATIONS):
            await sleep(0.0)

    @operation
    async def disconnect(self) -> None:
        """Close by force, without waiting; see `close`."""
        self._closing = True
        self._ended.set()
        if self._core is not None:
            self._core.end_waits(hurries=True)
        if (run := self._current) is not None:
            run.begin_close(force=True)


def has_left_jobs(worker: WorkerBase[Any]) -> bool:
    """Tell whether the last run has ended and left jobs, which any worker runs again."""
    return worker._run is not None and bool(worker._run.core.held_ids())
