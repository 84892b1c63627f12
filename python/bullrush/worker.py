"""A worker: runs a function for each job of a queue."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sized
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, overload

from bullrush import checks
from bullrush._core import CoreWorker
from bullrush.checks import Duration
from bullrush.encoding import JSON, decode
from bullrush.errors import BullrushError, ClosedError, InvalidOptionError, JobFailedError, JobLockMissingError
from bullrush.handle import Handle
from bullrush.inspection import JobT
from bullrush.job import AsyncJob, Job, JobCalls
from bullrush.listeners import Listener, Listeners, ListenerT
from bullrush.operation import Blocking, operation, seconds
from bullrush.processor import Processor, is_async
from bullrush.record import JobFields, Progressed
from bullrush.runners import LoopRunner, LoopThreadRunner, Runner, ThreadRunner
from bullrush.worker_options import (
    BackoffStrategy,
    Handler,
    WorkerOptions,
    WorkerSettings,
    check_concurrency,
    read_worker_options,
)
from bullrush.worker_run import RunStats, WorkerRun, closed_by_signals

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self, Unpack

    from bullrush._core import JobRecord, WorkerEvent

#: When `Worker.run` returns by itself.
Until = Literal["empty", "drained"]

_OUTCOMES: Final = ("completed", "failed")
_UNTIL: Final = frozenset({"empty", "drained"})
HORIZON: Final = 60_000
_CALL_TIMEOUT_MS: Final = 10_000
_POLL: Final = 0.005

_log: Final = logging.getLogger("bullrush")


class WorkerCalls(Handle, Generic[JobT]):
    """Everything of a worker but the way to wait."""

    #: What listeners get.
    _job_type: ClassVar[Callable[..., JobCalls]]
    _loop_runner: ClassVar[type[LoopRunner]]

    def __init__(self, queue_name: str, handler: Handler | None = None, **options: Unpack[WorkerOptions]) -> None:
        """Name a queue and what to do with its jobs. Nothing happens before `run`, unless ``autorun`` is set.

        Args:
            queue_name: the queue.
            handler: gets each job and returns its result, any JSON value. A plain function runs on a thread and gets a
                `bullrush.Job`; a coroutine function runs on an event loop and gets a `bullrush.aio.Job`.
            options: see `WorkerOptions`.

        Raises:
            QueueNameError: the name is empty or has a colon or control characters.
            InvalidOptionError: an option does not exist or has a bad value.
        """
        self._settings: WorkerSettings = read_worker_options(options)
        function = handler if handler is not None else self._settings.batch_handler
        if function is None or (handler is not None and self._settings.batch_handler is not None):
            raise InvalidOptionError("A worker needs either a handler or a batch_handler")
        if not callable(function):
            raise InvalidOptionError(f"handler must be a function, not {function!r}")
        super().__init__(
            queue_name,
            self._settings.url,
            self._settings.prefix,
            max_len_events=10_000,
            skip_metas_update=True,
            timeout_ms=_CALL_TIMEOUT_MS,
        )
        self._function: Callable[..., Any] = function
        self._concurrency = self._settings.concurrency
        self._listeners = self._new_listeners()
        # The exceptions of failed jobs until the core reports that the failure is stored.
        self._errors: dict[str, BaseException] = {}
        self._lock = threading.Lock()
        self._reports_outcomes = False
        self._paused = False
        self._closed = False
        self._run: WorkerRun | None = None

    def _new_listeners(self) -> Listeners:
        return Listeners()

    # Local events.

    @overload
    def on(self, event: str, listener: None = None) -> Callable[[ListenerT], ListenerT]: ...
    @overload
    def on(self, event: str, listener: ListenerT) -> ListenerT: ...
    def on(self, event: str, listener: Listener | None = None) -> Any:
        """Call a function at every event: ``worker.on("failed", note)``, or ``@worker.on("failed")`` above it.

        Events and arguments: ``ready()``, ``active(job)``, ``progress(job, progress)``, ``completed(job, result)``,
        ``failed(job, error)`` after every failed attempt, ``stalled(job_id)``, ``drained()``, ``paused()``, ``resumed()``,
        ``error(error)``, ``closing()``, ``closed()``. Listeners run on the thread that runs the worker; those of ``active`` and
        ``progress`` on the handler's.
        """
        return self._listen(event, listener, once=False)

    @overload
    def once(self, event: str, listener: None = None) -> Callable[[ListenerT], ListenerT]: ...
    @overload
    def once(self, event: str, listener: ListenerT) -> ListenerT: ...
    def once(self, event: str, listener: Listener | None = None) -> Any:
        """Call a function at the next event; see `on`."""
        return self._listen(event, listener, once=True)

    def off(self, event: str, listener: Listener) -> None:
        """Call a function no more; see `on`."""
        self._listeners.remove(event, listener)

    def _listen(self, event: str, listener: Any, *, once: bool) -> Any:
        if listener is None:
            return lambda function: self._listen(event, function, once=once)
        if event in _OUTCOMES and self.is_running() and not self._reports_outcomes:
            raise RuntimeError(f"Listen to {event!r} before the worker runs: this run does not report outcomes")
        self._listeners.add(event, listener, once=once)
        return listener

    @property
    def progressed(self) -> Progressed | None:
        """Told of the progress of its jobs."""
        return self._announce_progress if self._listeners.of("progress") else None

    def _announce_progress(self, job: JobFields, progress: JSON) -> None:
        self._announce("progress", job, progress)

    @property
    def backoff_strategy(self) -> BackoffStrategy | None:
        """The custom backoff strategy."""
        return self._settings.backoff_strategy

    def watched(self) -> Sized:
        """Return something that is not empty while someone listens to ``active``."""
        return self._listeners.of("active")

    def job_started(self, job: JobCalls) -> None:
        """Tell listeners that a handler is about to get a job."""
        self._announce("active", job)

    def job_failed(self, job: JobCalls, error: BaseException) -> None:
        """Keep the exception for the event that comes once the failure is stored."""
        if self._listeners.of("failed"):
            self._errors[job.id] = error

    def _announce(self, event: str, job: JobFields, *arguments: object) -> None:
        self._listeners.emit(event, job.as_type(self._job_type), *arguments)

    def _report(self, event: WorkerEvent) -> None:
        """Pass on what the core tells: to listeners, and without payloads to the log."""
        kind, record, text, number = event
        emit = self._listeners.emit
        if kind == "completed" and record is not None:
            emit(kind, self._finished_job(record, final=True, returnvalue=text), decode(text, "returnvalue", record.id))
        elif kind == "failed" and record is not None:
            error = self._errors.pop(record.id, None) or JobFailedError(text)
            _log.debug("Job %s failed, %s", record.id, "will be retried" if number else "for good")
            emit(kind, self._finished_job(record, final=not number, failedReason=text), error)
        elif kind == "stalled":
            _log.warning("Job %s had stalled: its worker went silent", text)
            emit(kind, text)
        elif kind == "lock_lost":
            lost = JobLockMissingError(f"could not renew lock for job {text}")
            _log.warning("%s", lost)
            if self._run is not None:
                self._run.runner.cancel(text)
            emit("error", lost)
        elif kind == "error":
            _log.error("%r: %s", self, text)
            emit(kind, BullrushError(text))
        elif kind == "reconnecting":
            _log.warning("%r: %s", self, text)
        elif kind == "connected":
            _log.info("%r: connected", self)
            emit("ready")
        elif kind == "drained":
            emit(kind)

    def _finished_job(self, record: JobRecord, *, final: bool, **outcome: str) -> JobCalls:
        job = self._job_type(record, self)
        job.finish(final=final, **outcome)
        return job

    # Running.

    def _begin(
        self, until: Until | None, max_jobs: int | None, max_seconds: float | None, horizon: Duration
    ) -> WorkerRun:
        """Check how long to run and start fetching; handlers start with the run's `start`."""
        if until is not None and until not in _UNTIL:
            raise InvalidOptionError(f"until must be None, 'empty' or 'drained', not {until!r}")
        most = None if max_jobs is None else checks.at_least(1)("max_jobs", max_jobs)
        ahead = checks.milliseconds("horizon", horizon)
        with self._lock:
            if self._closed:
                raise ClosedError(f"{self!r} is closed")
            if self.is_running():
                msg = "Worker is already running."
                raise RuntimeError(msg)
            core = self._new_core()
            if self._paused:
                core.pause()
            core.start(until=until, max_jobs=most, max_seconds=max_seconds, horizon=ahead)
            self._run = run = WorkerRun(core, self._new_runner(core), self._report)
        return run

    def _new_core(self) -> CoreWorker:
        settings = self._settings
        self._reports_outcomes = settings.autorun or any(self._listeners.of(event) for event in _OUTCOMES)
        return CoreWorker(
            self._url,
            self._prefix,
            self._name,
            concurrency=self._concurrency * settings.batch_size,
            prefetch=settings.prefetch,
            lock_duration=settings.lock_duration,
            lock_renew_time=settings.lock_renew_time or max(1, settings.lock_duration // 2),
            stalled_interval=settings.stalled_interval,
            max_stalled_count=settings.max_stalled_count,
            max_started_attempts=settings.max_started_attempts,
            limiter=settings.limiter,
            drain_delay=settings.drain_delay,
            remove_on_complete=settings.remove_on_complete,
            remove_on_fail=settings.remove_on_fail,
            metrics_max_points=settings.metrics,
            worker_name=settings.name,
            skip_stalled_check=settings.skip_stalled_check,
            skip_lock_renewal=settings.skip_lock_renewal,
            max_backoff=settings.max_backoff,
            report_outcomes=self._reports_outcomes,
        )

    def _new_runner(self, core: CoreWorker) -> Runner:
        settings, slots = self._settings, self._concurrency
        if is_async(self._function):
            tasks = Processor(core, self._function, AsyncJob, self, self)
            start = tasks.run_one_async if settings.batch_handler is None else tasks.run_batch_async
            return self._loop_runner(core, start, slots, settings.batch_size)
        calls = Processor(core, self._function, Job, self, self)
        call = calls.run_each if settings.batch_handler is None else calls.run_batch
        return ThreadRunner(core, call, slots, settings.batch_size, f"bullrush-{self._name}")

    def _end(self, run: WorkerRun) -> RunStats:
        self._errors.clear()
        self._listeners.emit("closed")
        return run.stats()

    def is_running(self) -> bool:
        """Tell whether the worker takes jobs or still has some."""
        return self._run is not None and not self._run.finished

    def is_paused(self) -> bool:
        """Tell whether this worker is paused."""
        return self._paused

    @property
    def concurrency(self) -> int:
        """How many jobs, or batches, run at a time. May be set while the worker runs."""
        return self._concurrency

    @concurrency.setter
    def concurrency(self, concurrency: int) -> None:
        self._concurrency = check_concurrency("concurrency", concurrency)
        if self._run is not None and self.is_running():
            self._run.core.set_concurrency(self._concurrency * self._settings.batch_size)
            self._run.runner.resize(self._concurrency)

    @operation
    async def pause(self, do_not_wait_active: bool = False) -> None:
        """Take no more jobs, in this worker only, until `resume`.

        Args:
            do_not_wait_active: return at once; by default wait until the running jobs are done.
        """
        self._paused = True
        run = self._run
        if run is not None and self.is_running():
            run.core.pause()
            while not do_not_wait_active and self.is_running() and run.core.stats()["in_hand"] and not run.is_inside():
                await seconds(_POLL)
        self._listeners.emit("paused")

    def resume(self) -> None:
        """Take jobs again."""
        self._paused = False
        if self._run is not None and self.is_running():
            self._run.core.resume()
        self._listeners.emit("resumed")

    @operation
    async def close(self, force: bool = False, *, timeout: Duration | None = None) -> None:
        """Take no more jobs, wait for the running ones, and end `run`.

        Args:
            force: do not wait: running jobs stay claimed until their lock expires, and then run again.
            timeout: ms after which the same goes for jobs that still run.
        """
        self._closed = True
        run = self._run
        if run is None or run.finished:
            return
        self._listeners.emit("closing")
        run.begin_close(None if timeout is None else checks.milliseconds("timeout", timeout), force=force)
        while not run.finished and not run.is_inside():
            await seconds(_POLL)


class Worker(Blocking, WorkerCalls[Job]):
    """A worker. Its calls block; `bullrush.aio.Worker` has the same ones to be awaited."""

    _job_type = Job
    _loop_runner = LoopThreadRunner

    def __init__(self, queue_name: str, handler: Handler | None = None, **options: Unpack[WorkerOptions]) -> None:
        super().__init__(queue_name, handler, **options)
        if self._settings.autorun:
            run = self._begin(None, None, None, HORIZON)
            threading.Thread(
                target=self._run_in_background, args=(run,), name=f"bullrush-{queue_name}", daemon=False
            ).start()

    def run(
        self,
        *,
        until: Until | None = None,
        max_jobs: int | None = None,
        max_seconds: float | None = None,
        horizon: Duration = HORIZON,
    ) -> RunStats:
        """Run jobs until the worker is closed, or until one of the arguments says so.

        In the main thread SIGTERM and SIGINT close it: the first one gracefully, a second one by force.

        Args:
            until: ``empty``: nothing to fetch now and nothing running here. ``drained``: also nothing active anywhere, and
                nothing due within ``horizon``.
            max_jobs: after so many jobs.
            max_seconds: after so much time.
            horizon: ms, for ``until="drained"``.

        Raises:
            RuntimeError: it runs already.
            ClosedError: it was closed.
        """
        run = self._begin(until, max_jobs, max_seconds, horizon)
        with closed_by_signals(run):
            run.start()
            run.supervise()
        return self._end(run)

    def _run_in_background(self, run: WorkerRun) -> None:
        try:
            run.start()
            run.supervise()
        except Exception:
            _log.exception("%r broke down", self)
        finally:
            self._end(run)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()
