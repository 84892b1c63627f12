"""A registry of tasks: the functions that run as jobs of one queue."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, ParamSpec, Protocol, TypeVar, overload

from bullrush.errors import InvalidOptionError
from bullrush.extending import (
    Duration,
    check_job_name,
    checks,
    is_async,
    missing_attribute,
    options_by_name,
    shows_options,
)
from bullrush.job import JobOptions
from bullrush.masking import masked
from bullrush.queue import QueueOptions
from bullrush.tasks.codecs import JSON, Codec
from bullrush.tasks.cron import CronRule, EveryRule, Rule, check_rule
from bullrush.tasks.middleware import Middleware
from bullrush.tasks.new_task import NewTask
from bullrush.tasks.options import TaskOptions, check_worker_options, job_options, read_task_options
from bullrush.tasks.producer import DEFAULT_TIMEOUT, TaskProducer
from bullrush.tasks.running.eager import run_now
from bullrush.tasks.running.handler import handler_of
from bullrush.tasks.running.service import Lifespan, Part, Placed, arunning, routes, running
from bullrush.tasks.signature import Signature
from bullrush.tasks.task import AsyncTask, PlainTask, Task
from bullrush.tasks.task_job import TaskJob
from bullrush.url import check_url
from bullrush.worker import Route

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from bullrush.telemetry import Telemetry
    from bullrush.worker import WorkerOptions

P = ParamSpec("P")
R = TypeVar("R")


#: Calls that other libraries, or other classes here, have in this place -> where they are.
_OTHER_NAMES: Final = {
    "aenqueue_many": "await bullrush.aenqueue_many([task.bind(...), ...])",
    "enqueue_many": "bullrush.enqueue_many([task.bind(...), ...])",
    "get_job": "task.get_job(id)",
    "send_task": "task.enqueue(...)",
}


class TaskMaker(Protocol):
    """What `Tasks.task` with options returns: makes a task of a function."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> AsyncTask[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> PlainTask[P, R]: ...


class Tasks:
    """The tasks of one queue: ``tasks = Tasks("mail")``, then ``@tasks.task`` on functions, and ``Worker(tasks)``.

    Making one connects to nothing; the first job does.
    """

    @options_by_name
    def __init__(
        self,
        queue: str,
        *,
        url: str | None = None,
        prefix: str = "bull",
        default_job_options: JobOptions | None = None,
        middleware: Sequence[Middleware] = (),
        lifespan: Lifespan | None = None,
        worker_options: WorkerOptions | None = None,
        fan_out: bool = False,
        notify: bool = False,
        durable: bool | Literal["replica", "aof"] = False,
        payload_limit: int | None = checks.PAYLOAD_LIMIT,
        telemetry: Telemetry | None = None,
        redis_timeout: Duration | None = DEFAULT_TIMEOUT,
        codec: Codec = JSON,
        eager: bool = False,
    ) -> None:
        """Make a registry.

        Args:
            queue: the queue's name.
            url: the URL of Redis; see `bullrush.queue.QueueOptions`. The environment is read at first use.
            prefix: the prefix of all keys.
            default_job_options: options of the jobs of every task; those of a task take precedence.
            middleware: runs round every enqueue and every run.
            lifespan: returns a context manager, which is open while a worker runs these tasks.
            worker_options: options of the workers that run these tasks, such as ``backoff_strategy`` and ``limiter``;
                see `WorkerOptions`. Those that a worker is given take precedence.
            fan_out: True: `bullrush.tasks.enqueue_many` wakes one idle worker per job, all at once; see `QueueOptions`.
                Workers have an option of their own: ``worker_options={"fan_out": True}``.
            notify: True: a call that enqueues sends a message, which wakes workers with ``notify=True``; see
                `QueueOptions`.
            durable: True: a call that enqueues returns when its jobs are in a replica or on the disk; see
                `QueueOptions`.
            payload_limit: the most bytes that the arguments of a job may have as JSON; None is no limit; see
                `QueueOptions`.
            telemetry: a tracer such as `bullrush.otel.OpenTelemetry`, or None. It is also that of the workers that run
                these tasks, unless ``worker_options`` name another, or None.
            redis_timeout: ms that a call which enqueues waits for Redis, 10,000 by default; None waits forever. Web
                programs answer sooner with fewer, such as 500; see ``timeout`` of `QueueOptions`.
            codec: makes JSON of arguments and results.
            eager: True runs a task at once when it is enqueued, without Redis; for tests. It can be set later, too.

        Raises:
            QueueNameError: the name is empty, or has a colon or control characters.
            InvalidOptionError: an option has an invalid value.
        """
        self._defaults = job_options(default_job_options or {}, {})
        if lifespan is not None and not callable(lifespan):
            raise InvalidOptionError(f"lifespan must be a function that returns a context manager, not {lifespan!r}")
        traced = check_worker_options({} if telemetry is None else {"telemetry": telemetry})
        self._worker_options = traced | check_worker_options(worker_options or {})
        self._codec = codec
        self._part = Part(tuple(middleware), lifespan)
        self._included: list[Tasks] = []
        options: QueueOptions = {
            "fan_out": fan_out,
            "notify": notify,
            "durable": durable,
            "payload_limit": payload_limit,
            "telemetry": telemetry,
            "timeout": None if redis_timeout is None else checks.milliseconds("redis_timeout", redis_timeout),
        }
        self._producer = TaskProducer(
            queue,
            check_url("url", url),
            prefix=prefix,
            middleware=middleware,
            options=options,
            signature_of=self._signature_of,
            run_now=self._run_now,
        )
        self.eager = eager

    if not TYPE_CHECKING:  # type checkers would accept any name

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_attribute(self, name, _OTHER_NAMES.get(name))

    def __repr__(self) -> str:
        where = f" at {masked(self.url)}" if self.url else ""
        return f"<Tasks of queue {self.queue!r}{where}: {', '.join(self._part.tasks)}>"

    @property
    def queue(self) -> str:
        """The queue's name."""
        return self._producer.queue

    @property
    def url(self) -> str | None:
        """The URL of Redis as given."""
        return self._producer.url

    @property
    def prefix(self) -> str:
        """The prefix of all keys."""
        return self._producer.prefix

    @property
    def worker_options(self) -> Mapping[str, Any]:
        """The options of the workers that run these tasks, where they have none of their own."""
        return self._worker_options

    @property
    def import_path(self) -> str | None:
        """Where ``bullrush worker`` found the registry, such as ``app.jobs:tasks``, for its hints; None elsewhere."""
        return self._part.import_path

    @import_path.setter
    def import_path(self, import_path: str | None) -> None:
        self._part.import_path = import_path

    @property
    def eager(self) -> bool:
        """Whether a task runs at once when it is enqueued.

        Setting it also sets it for the registries that are included.
        """
        return self._producer.eager

    @eager.setter
    def eager(self, eager: bool) -> None:
        self._producer.eager = eager
        for other in self._included:
            other.eager = eager

    @overload
    def task(  # type: ignore[overload-overlap]
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> AsyncTask[P, R]: ...
    @overload
    def task(self, function: Callable[P, R], /) -> PlainTask[P, R]: ...
    @overload
    def task(self, *, name: str | None = None, **options: Unpack[TaskOptions]) -> TaskMaker: ...
    @shows_options  # type: ignore[misc]
    def task(self, function: Any = None, /, *, name: str | None = None, **options: Unpack[TaskOptions]) -> Any:
        """Make a task of a function: ``@tasks.task`` or ``@tasks.task(timeout=30_000, attempts=5)``.

        Its arguments become the data of the job, ``{"user_id": 7}``, and its result the job's return value. An
        ``async def`` runs on an event loop, a ``def`` on a thread; a registry may have both.

        Args:
            function: the function.
            name: the name of its jobs; the function's own by default.
            options: see `TaskOptions`.

        Raises:
            InvalidOptionError: another task has this name, an option is wrong, or a parameter cannot come from a job.
        """
        job, run = read_task_options(options, self._defaults)

        def make(function: Callable[..., Any]) -> Task[Any, Any]:
            if not callable(function) or isinstance(function, type):
                raise InvalidOptionError(f"@tasks.task is for functions, not {function!r}")
            if name is None and not hasattr(function, "__name__"):
                raise InvalidOptionError(f"{function!r} has no name of its own: give the task a name=")
            own_name = check_job_name(function.__name__ if name is None else name)
            if own_name in self._part.tasks:
                raise InvalidOptionError(f"{self!r} has a task {own_name!r} already: give one of them a name=")
            signature = Signature(own_name, function, self._codec)
            kind = AsyncTask if is_async(function) else PlainTask
            made: Task[Any, Any] = kind(
                function, signature, name=own_name, opts=job, run_options=run, producer=self._producer
            )
            self._part.tasks[own_name] = made
            return made

        return make if function is None else make(function)

    @shows_options
    def cron(self, pattern: str, *, tz: str, name: str | None = None, **options: Unpack[TaskOptions]) -> TaskMaker:
        """Make a task that runs by itself: ``@tasks.cron("0 9 * * 1-5", tz="Europe/Berlin")``.

        A worker of this registry makes a job scheduler when it starts; its id is the task's name. It is made again only
        if its definition changed. One whose code has gone stays, with a warning, until `bullrush.tasks.cron.prune` or
        ``bullrush schedulers QUEUE --prune module:tasks`` removes it. Schedulers of others are never touched.

        Args:
            pattern: a cron pattern with five fields, or six with seconds first; see `RepeatOptions`.
            tz: the time zone of the pattern.
            name: the name of its jobs; the function's own by default.
            options: see `TaskOptions`.

        Raises:
            InvalidOptionError: the function needs arguments; or see `task`.
        """
        return self._by_itself(CronRule(pattern, tz), name, options)

    @shows_options
    def every(self, every: Duration, *, name: str | None = None, **options: Unpack[TaskOptions]) -> TaskMaker:
        """Make a task that runs by itself at an interval: ``@tasks.every(90_000)``.

        All that is said of `cron` holds. The first run is at once.

        Args:
            every: ms between two runs, or a timedelta.
            name: the name of its jobs; the function's own by default.
            options: see `TaskOptions`.

        Raises:
            InvalidOptionError: the function needs arguments; or see `task`.
        """
        return self._by_itself(EveryRule(checks.positive_milliseconds("every", every)), name, options)

    def _by_itself(self, rule: Rule, name: str | None, options: TaskOptions) -> TaskMaker:
        maker = self.task(name=name, **options)

        def make(function: Callable[..., Any]) -> Task[Any, Any]:
            made: Task[Any, Any] = maker(function)
            try:
                check_rule(made, rule)
            except BaseException:
                del self._part.tasks[made.name]
                raise
            self._part.crons[made.name] = rule
            return made

        return make  # type: ignore[return-value]

    @property
    def crons(self) -> dict[str, Rule]:
        """The tasks that run by themselves, also those of included registries: their rules by name."""
        return {name: rule for part, _ in self._parts() for name, rule in part.crons.items()}

    def include(self, *others: Tasks) -> None:
        """Let workers of this registry also run the tasks of others; for programs of many modules.

        Their runs are inside the middleware of this registry. They keep their own options, and their own middleware.
        A registry that is included by several ways counts once, in its first place.

        Args:
            *others: registries of the same queue.

        Raises:
            InvalidOptionError: one of them has another queue, prefix or URL, includes this one, or has options of the
                worker that this one has not: a worker has only those of the registry that it is made of.
        """
        for other in others:
            if not isinstance(other, Tasks):
                raise InvalidOptionError(f"include() takes other Tasks, not {other!r}")
            if (other.queue, other.prefix) != (self.queue, self.prefix):
                raise InvalidOptionError(f"{other!r} is not of the queue {self.queue!r}: start a worker for each queue")
            if None not in (other.url, self.url) and other.url != self.url:
                raise InvalidOptionError(f"{other!r} has another URL than {self!r}: start a worker for each server")
            if lost := sorted(other.worker_options.keys() - self.worker_options.keys()):
                raise InvalidOptionError(
                    f"{other!r} has worker_options that {self!r} has not: give that one {', '.join(lost)}, too"
                )
            if other is self or any(part is self._part for part, _ in other._parts()):
                raise InvalidOptionError(f"{other!r} includes {self!r}: only one of two can include the other")
        self._included += others
        if self.eager:
            self.eager = True

    def _parts(self) -> list[Placed]:
        """Return this registry and those that it includes, each one once."""
        found: dict[int, Placed] = {}
        for part, middleware in self._places(()):
            found.setdefault(id(part), (part, middleware))
        return list(found.values())

    def _places(self, outer: tuple[Middleware, ...]) -> Iterator[Placed]:
        middleware = (*outer, *self._part.middleware)
        yield self._part, middleware
        for other in self._included:
            yield from other._places(middleware)

    def routes(self) -> Mapping[str, Route]:
        """Return the handlers of all tasks by name, for a worker.

        Raises:
            InvalidOptionError: there is none, two tasks have one name, or a task cannot run.
        """
        found = routes(self._parts())
        if not found:
            raise InvalidOptionError(f"{self!r} has no tasks: import the modules that define them")
        return found

    def running(self, worker: Any) -> AbstractContextManager[None]:
        """Return a block for a run of a worker: lifespans, values of its dependencies, job schedulers.

        Args:
            worker: the worker.
        """
        return running(self._parts(), self.queue, worker)

    def arunning(self, worker: Any) -> AbstractAsyncContextManager[None]:
        """Return a block for a run of a worker with an event loop; see `running`.

        Args:
            worker: the worker.
        """
        return arunning(self._parts(), self.queue, worker)

    def close(self) -> None:
        """Close the connections that enqueuing opened; the next job opens new ones."""
        self._producer.close()

    def _signature_of(self, name: str) -> Signature | None:
        task = self._part.tasks.get(name)
        return None if task is None else task.signature

    async def _run_now(self, new: NewTask[Any]) -> TaskJob[Any]:
        handler = handler_of(self._part.tasks[new.name], self._part.middleware, self._part.scopes)
        return await run_now(new, handler, self._signature_of)
