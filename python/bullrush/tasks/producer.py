"""Adds the jobs of a registry to its queue."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final

from bullrush.extending import Duration, QueueAdding, QueueGetters, check_prefix, check_queue_name, checks
from bullrush.queue import Queue, QueueOptions
from bullrush.tasks.middleware import Middleware, enqueue_hooks
from bullrush.tasks.new_task import NewTask
from bullrush.tasks.signature import Signature
from bullrush.tasks.task_job import TaskJob

if TYPE_CHECKING:
    from typing_extensions import Self

    from bullrush.routing import Target

DEFAULT_TIMEOUT: Final = 10_000

#: Returns the signature of the task of a name, None if there is no such task.
SignatureOf = Callable[[str], Signature | None]
#: Runs a task at once and returns its job.
RunNow = Callable[[NewTask[Any]], Coroutine[Any, Any, TaskJob[Any]]]


def without_redis(caller: str) -> str:
    """Return the error of a call that needs Redis, in a program whose registry is eager."""
    return (
        f"An eager task runs without Redis, and {caller} needs one: in this test use the fixture bullrush_url and a "
        "registry with eager=False, and run its jobs with bullrush.testing.work()"
    )


class TaskQueue(Queue):
    """A queue whose jobs know the types of their results."""

    _job_type = TaskJob
    signature_of: SignatureOf

    def _same_for(self, name: str) -> Self:
        queue = super()._same_for(name)
        queue.signature_of = self.signature_of
        return queue


class TaskProducer:
    """Adds the jobs of one registry. It connects at the first job; a forked process connects anew."""

    queue: str
    url: str | None
    prefix: str

    def __init__(
        self,
        queue: str,
        url: str | None,
        *,
        prefix: str,
        middleware: Sequence[Middleware],
        options: QueueOptions,
        signature_of: SignatureOf,
        run_now: RunNow,
    ) -> None:
        self.queue, self.url, self.prefix = check_queue_name(queue), url, check_prefix(prefix)
        self.eager = False
        for name in ("fan_out", "notify"):
            checks.boolean(name, options.get(name))
        checks.durable("durable", options["durable"])
        checks.payload_limit("payload_limit", options["payload_limit"])
        self._options = options
        self._signature_of, self._run_now = signature_of, run_now
        self._hooks = enqueue_hooks(middleware)
        self._handles: dict[Duration | None, TaskQueue] = {}

    def handle(self, timeout: int | None = None) -> TaskQueue:
        """Return the handle of the queue with this time limit.

        It is made at first use, since it reads the environment.
        """
        key = self._options["timeout"] if timeout is None else timeout
        if (found := self._handles.get(key)) is None:
            options: QueueOptions = {**self._options, "url": self.url, "prefix": self.prefix, "timeout": key}
            found = TaskQueue(self.queue, **options)
            found.signature_of = self._signature_of
            self._handles[key] = found
        return found

    def need_redis(self, caller: str) -> None:
        """Refuse a call that needs Redis if the registry is eager.

        Raises:
            RuntimeError: it is.
        """
        if self.eager:
            raise RuntimeError(without_redis(caller))

    def prepared(self, new: NewTask[Any]) -> NewTask[Any]:
        """Return a job as the middleware wants it."""
        for hook in self._hooks:
            new = hook(new)
        return new

    async def add(self, new: NewTask[Any]) -> TaskJob[Any]:
        """Add one job. It is an operation."""
        new = self.prepared(new)
        if self.eager:
            return await self._run_now(new)
        job: Any = await QueueAdding.add.steps(self.handle(), new.name, new.data, **new.opts)
        return job  # type: ignore[no-any-return]

    async def add_many(self, new: Sequence[NewTask[Any]], timeout: int | None) -> list[TaskJob[Any]]:
        """Add jobs with one ``add_bulk``. It is an operation."""
        if self._hooks:
            new = [self.prepared(one) for one in new]
        if self.eager:
            return [await self._run_now(one) for one in new]
        jobs = [{"name": one.name, "data": one.data, "opts": one.opts} for one in new]
        added: Any = await QueueAdding.add_bulk.steps(self.handle(timeout), jobs)
        return added  # type: ignore[no-any-return]

    async def get_job(self, job_id: str, name: str, target: Target | None) -> TaskJob[Any] | None:
        """Return the job with this id and this name, None if there is none. It is an operation."""
        self.need_redis("get_job()")
        queue = self.handle() if target is None else self.handle().route(target)
        job: Any = await QueueGetters.get_job.steps(queue, job_id)
        return job if job is not None and job.name == name else None

    def close(self) -> None:
        """Close the handles of the queue; the next job opens new ones."""
        while self._handles:
            self._handles.popitem()[1].close()
