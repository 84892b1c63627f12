"""A task: a function that can be called, and added to a queue as a job."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, ParamSpec, TypeVar

from bullrush.extending import missing_attribute, run_async, run_blocking, shows_options
from bullrush.job import JobOptions
from bullrush.tasks.new_task import NewTask
from bullrush.tasks.options import RunOptions, job_options
from bullrush.tasks.producer import TaskProducer
from bullrush.tasks.signature import Signature
from bullrush.tasks.task_job import AsyncTaskJob, TaskJob

if TYPE_CHECKING:
    from typing_extensions import Unpack

P = ParamSpec("P")
R = TypeVar("R")


#: What other libraries call it -> what it is called here.
_OTHER_NAMES: Final = {
    "apply_async": "using(...).enqueue(...)",
    "defer": "enqueue(...)",
    "delay": "enqueue(...); for later, using(delay=60_000).enqueue(...)",
    "enqueue_many": "bullrush.enqueue_many([task.bind(...), ...])",
    "enqueue_in": "using(delay=60_000).enqueue(...)",
    "kiq": "await aenqueue(...)",
    "retry": "attempts= and backoff= of the task, or raise bullrush.TransientError(..., delay=10_000)",
    "s": "bind(...)",
    "schedule": "using(delay=60_000).enqueue(...)",
    "send": "enqueue(...)",
    "si": "bind(...); in a flow no step gets the result of another as an argument",
    "send_with_options": "using(...).enqueue(...)",
}


class Task(Generic[P, R]):
    """A function that can be added to a queue. Made by `Tasks.task`; calling it runs the function here and now.

    Attributes:
        fn: the function itself.
        name: the name of its jobs.
        opts: the options of its jobs.
        run_options: ``timeout``, ``retry_if`` and ``lock_duration`` of its runs.
        signature: the compiled signature.
    """

    fn: Callable[P, Any]

    signature: Signature
    name: str
    opts: JobOptions
    run_options: RunOptions

    def __init__(
        self,
        fn: Callable[P, Any],
        signature: Signature,
        *,
        name: str,
        opts: JobOptions,
        run_options: RunOptions,
        producer: TaskProducer,
    ) -> None:
        functools.update_wrapper(self, fn)
        self.fn, self.signature, self.name = fn, signature, name
        self.opts, self.run_options = opts, run_options
        self._producer = producer

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Run the function here and now. Dependencies must be passed."""
        return self.fn(*args, **kwargs)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_attribute(self, name, _OTHER_NAMES.get(name))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of queue {self.queue_name!r}>"

    def __reduce__(self) -> str:
        # By reference, for processes that run handlers: they import the module.
        return self.fn.__qualname__

    @property
    def queue_name(self) -> str:
        """The queue of its jobs."""
        return self._producer.queue

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> TaskJob[R]:
        """Add a job that calls the function with these arguments. It blocks; `aenqueue` is awaited.

        Args:
            *args: the arguments of the function.
            **kwargs: those given by name.

        Returns:
            The job; `TaskJob.result` waits for what the function returns.

        Raises:
            TypeError: the function does not take these arguments, or one of them is a dependency.
            DataError: an argument does not have its type, or is not JSON; the message has its path.
            ConnectionLostError: Redis could not be reached; the job was not added.
            OutcomeUnknownError: the connection broke; the job was added or not.

        Redis:
            See `Queue.add`.
        """
        return run_blocking(self._producer.add(self.bind(*args, **kwargs)))

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> AsyncTaskJob[R]:
        """Add a job; see `enqueue`.

        Args:
            *args: the arguments of the function.
            **kwargs: those given by name.

        Returns:
            The job; its calls are awaited.
        """
        return (await run_async(self._producer.add(self.bind(*args, **kwargs)))).aio

    def get_job(self, job_id: str) -> TaskJob[R] | None:
        """Return the job of this task with this id, such as one that another request enqueued. `aget_job` is awaited.

        Jobs with a ``target`` have ids of their own: ``task.using(target=...).get_job(id)`` finds them.

        Args:
            job_id: the id of the job.

        Returns:
            The job; None if there is none, or if it is the job of another task.

        Raises:
            RuntimeError: the registry is eager: Redis has none of its jobs.
            ConnectionLostError: Redis could not be reached.
        """
        return run_blocking(self._producer.get_job(job_id, self.name, self.opts.get("target")))

    async def aget_job(self, job_id: str) -> AsyncTaskJob[R] | None:
        """Return the job of this task with this id; see `get_job`.

        Args:
            job_id: the id of the job.

        Returns:
            The job; its calls are awaited. None if there is none, or if it is the job of another task.
        """
        job = await run_async(self._producer.get_job(job_id, self.name, self.opts.get("target")))
        return None if job is None else job.aio

    def bind(self, *args: P.args, **kwargs: P.kwargs) -> NewTask[R]:
        """Return the task with its arguments, for `enqueue_many`, flows and job schedulers. Nothing is written.

        Args:
            *args: the arguments of the function.
            **kwargs: those given by name.

        Raises:
            TypeError, DataError: see `enqueue`.
        """
        producer = self._producer
        data = self.signature.bind(args, kwargs)
        return NewTask(self.name, producer.queue, producer.prefix, data, self.opts, producer)

    @shows_options
    def using(self, **options: Unpack[JobOptions]) -> Task[P, R]:
        """Return the same task with other options of its jobs: ``task.using(delay=60_000).enqueue(7)``.

        Raises:
            UnknownOptionError: an option does not exist.
            InvalidOptionError: an option has an invalid value.
        """
        other = copy_of(self)
        other.opts = job_options(options, self.opts)
        return other


class AsyncTask(Task[P, R]):
    """A task of an ``async def``: it runs on an event loop."""

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
            """Return the coroutine of the function."""


class PlainTask(Task[P, R]):
    """A task of a ``def``: it runs on a thread."""

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
            """Run the function here and now."""


def copy_of(task: Task[P, R]) -> Task[P, R]:
    """Return a copy; `copy.copy` would return the task itself, since it is pickled by reference."""
    other = object.__new__(type(task))
    other.__dict__.update(task.__dict__)
    return other
