"""What all calls of a worker stand on: its options, its handlers, its run, and how its jobs reach it."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any, Final, Generic

from orjson import loads

from bullrush._core import CoreQueue, JobRecord, route_base
from bullrush.base.handle import Handle, of_queue
from bullrush.base.operation import options_by_name
from bullrush.errors import InvalidOptionError
from bullrush.job.fields import JobFields
from bullrush.job.job import JobCalls, JobT
from bullrush.retries import Classifier
from bullrush.telemetry.spans import WORKER_SPANS
from bullrush.values.encoding import JSON, encode
from bullrush.values.options import Settings
from bullrush.worker.handlers.given import given_handlers
from bullrush.worker.options import Handler, WorkerOptions, checked_worker_options, core_options, with_defaults
from bullrush.worker.routes import HandlerSource, is_source
from bullrush.worker.running.run import WorkerRun
from bullrush.worker.tracing import TracedHandler

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from bullrush._core import Pending
    from bullrush.job.owner import BackoffStrategy, JobWorker
    from bullrush.job.record import Record
    from bullrush.routing import Profile
    from bullrush.worker.lanes.lane import Lane
    from bullrush.worker.lanes.sources import LaneSources

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


def _queue_options(settings: Settings) -> dict[str, object]:
    """Return the options of the worker's queue. A worker's ``timeout`` is another one: that of its handlers."""
    options = of_queue(settings)
    del options["timeout"]
    return {**options, "payload_limit": settings.payload_limit and settings.payload_limit[0]}


class WorkerBase(Handle, Generic[JobT]):
    """A worker without its calls."""

    _events = EVENTS
    _spans = WORKER_SPANS

    @options_by_name
    def __init__(
        self,
        queue_name: str | HandlerSource,
        handler: Handler | Mapping[str, Handler] | None = None,
        **options: Unpack[WorkerOptions],
    ) -> None:
        """Make a worker for a queue. It does not connect before `run`, unless ``autorun`` is set.

        Args:
            queue_name: the queue's name; or what has a queue and handlers, such as a task registry.
            handler: gets each job and returns its result, any JSON value. A plain function runs on a thread and gets a
                `bullrush.Job`; a coroutine function runs on an event loop and gets a `bullrush.aio.Job`. If it has a
                second parameter without a default, that gets the job's lock token. A text such as ``module:function``
                is imported. A dict has one handler for each name of jobs: ``{"welcome": send_welcome}``. Without a
                handler the worker cannot `run`, only `get_next_job`.
            options: see `WorkerOptions`.

        Raises:
            QueueNameError: the name is empty, or has a colon or control characters.
            InvalidOptionError: an option does not exist or has an invalid value, or the handler takes neither one nor
                two arguments.
        """
        if is_source(queue_name):
            options = with_defaults(options, queue_name.worker_options)  # type: ignore[assignment, union-attr]
        self._settings = checked_worker_options(options)
        self._handlers = handlers = given_handlers(queue_name, handler, self._settings)
        if not handlers and self._settings.autorun:
            raise InvalidOptionError("autorun needs a handler: Worker(queue_name, handler, autorun=True)")
        if (source := handlers.source) is not None:
            self._settings.url = self._settings.url or source.url
            self._settings.prefix = self._settings.prefix if "prefix" in options else source.prefix
        super().__init__(
            queue_name if source is None else source.queue,  # type: ignore[arg-type]
            self._settings,
            options,
            queue=_queue_options(self._settings),
            worker=core_options(self._settings),
        )
        base = route_base(self._name)
        if base is not None and self._settings.profile is not None:
            raise InvalidOptionError(
                f"{self._name!r} is a route, which has no routes; give the base: Worker({base!r}, ..., profile=...)"
            )
        if self._settings.results_queue == self._name:
            raise InvalidOptionError(
                f"results_queue={self._name!r} is the queue of the worker itself: each result would be its next job"
            )
        handlers.wrap(self._traced)
        self._concurrency: int = self._settings.concurrency
        self._lock = threading.Lock()
        self._runs = 0
        #: The program has asked for jobs: by a run, or one by one.
        self._was_used = self._settings.autorun
        self._paused = False
        self._run: WorkerRun | None = None
        self._lanes: tuple[Lane, ...] = ()
        #: Where the jobs come from; None if all come from the worker's own queue.
        self._sources: LaneSources | None = None
        self._identity = (0, "")
        #: Set when the worker closes.
        self._ended = threading.Event()

    @property
    def id(self) -> str:
        """The worker's id, with which the lock tokens of its jobs begin. A forked process has another one."""
        pid, worker_id = self._identity
        if pid != os.getpid():
            run = self._settings.run
            worker_id = f"{run}.{uuid.uuid4()}" if run else str(uuid.uuid4())
            self._identity = os.getpid(), worker_id
        return worker_id

    @property
    def worker_name(self) -> str:
        """The ``name`` option; without it a name for logs, made of the host, the process and the id."""
        return self._settings.name or f"{socket.gethostname()}-{os.getpid()}-{self.id.rpartition('.')[2][:6]}"

    @property
    def profile(self) -> Profile | None:
        """What this worker has, as jobs with a ``target`` ask for it; None without the option ``profile``."""
        profile = self._settings.profile
        return None if profile is None else loads(profile.canonical)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.worker_name} of {self._shown_queues!r} at {self._shown_url}>"

    @property
    def queue_names(self) -> list[str]:
        """The queues that the worker was made for, without routes."""
        return [lane.queue for lane in self._lanes] or [self._name]

    def serve(self, lanes: Sequence[Lane]) -> None:
        """Serve these queues from the next run on, instead of the worker's own.

        Args:
            lanes: the queues, with their weights and the most of their jobs at a time.
        """
        self._lanes = tuple(lanes)

    @property
    def _shown_queues(self) -> str:
        """The names of its queues in one text."""
        return ", ".join(self.queue_names)

    @property
    def _current(self) -> WorkerRun | None:
        """The current run, None if it has ended."""
        return None if self._run is None or self._run.finished else self._run

    def _unfinished(self) -> list[JobRecord]:
        """Return the jobs that handlers have, without those that have an outcome."""
        return [] if self._run is None else self._run.runner.unfinished()

    def _core_of(self, queue: str) -> CoreQueue:
        """Return the compiled side of a further queue of this worker, for the calls of its jobs."""
        settings = {**self._core_settings, "allow_legacy": True}
        return CoreQueue(self._url, self._prefix, queue, encode(settings, "options"), worker=self._core_worker)

    def _traced(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a handler with a span around each call, if the worker has a tracer."""
        if self._telemetry is None:
            return function
        handler = TracedHandler(self._telemetry, self._job_worker, self._settings.name)
        return handler.wrap(function, is_batch=self._settings.batch_handler is not None)

    # What its jobs and what runs their handlers need: see `bullrush.job.owner.JobWorker`.

    @property
    def _job_worker(self) -> JobWorker:
        return self

    @property
    def _backoff_strategy(self) -> BackoffStrategy | None:
        strategy: BackoffStrategy | None = self._settings.backoff_strategy
        return strategy

    def _classifiers(self, name: str) -> Mapping[str, Classifier]:
        route = self._handlers.routes.get(name)
        of_task = None if route is None else route.classify
        found = {f"retry_if of task {name!r}": of_task, "classify": self._settings.classify}
        return {option: classify for option, classify in found.items() if classify is not None}

    def _record_start(self, record: Record) -> Pending[None] | None:
        run = self._run if isinstance(record, JobRecord) else None
        return run.core.record_start(record) if run else None  # type: ignore[arg-type]

    def _listeners_of(self, event: str) -> Sized:
        return self._listeners.entries(event)

    def _job_started(self, job: JobCalls) -> None:
        self._emit_from_handler("active", job)

    def _shown_job(self, job_id: str, queue: str | None) -> str:
        """Name a job in a text: by its queue, too, in a worker of several queues, since ids are per queue."""
        return job_id if self._sources is None or queue is None else f"{job_id} of queue {queue!r}"

    def _report_progress(self, job: JobFields, progress: JSON) -> None:
        if self._has_listeners("progress"):
            self._emit_from_handler("progress", job, progress)

    # Its events.

    def _listen(self, event: str, listener: Any, *, once: bool) -> Any:
        if event in PER_JOB and listener is not None and (run := self._current) is not None:
            # Before the listener is added: from now on the core keeps jobs for it.
            run.core.report_outcomes(True)
        return super()._listen(event, listener, once=once)

    def _wants_outcomes(self) -> bool:
        return any(self._has_listeners(event) for event in PER_JOB)

    def _emit_from_handler(self, event: str, job: JobFields, *arguments: object) -> None:
        """Emit an event where the handler runs. A listener that raises `SystemExit` ends the run, and fails no job."""
        try:
            self._emit_for_job(event, job, *arguments)
        except BaseException as error:
            run = self._current
            if run is None:
                raise
            run.end_with(error)

    def _emit_for_job(self, event: str, job: JobFields, *arguments: object) -> None:
        self.emit(event, job._as_type(self._job_type), *arguments)
