"""A task with its arguments, before it is a job."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from bullrush.errors import InvalidOptionError
from bullrush.extending import JSON, Duration, checks, run_async, run_blocking
from bullrush.flow import Flow
from bullrush.job import JobOptions
from bullrush.scheduler import JobTemplate
from bullrush.tasks.task_job import AsyncTaskJob, TaskJob

R = TypeVar("R")
#: Tasks with different results may be in one list.
R_co = TypeVar("R_co", covariant=True)


class Producer(Protocol):
    """Adds the jobs of one registry. Its asynchronous calls are operations: they block or are awaited."""

    def need_redis(self, caller: str) -> None:
        """Refuse a call that needs Redis if the registry is eager."""

    def prepared(self, new: NewTask[Any]) -> NewTask[Any]:
        """Return a job as the middleware wants it."""

    def add_many(self, new: Sequence[NewTask[Any]], timeout: int | None) -> Coroutine[Any, Any, list[TaskJob[Any]]]:
        """Add jobs with one ``add_bulk``."""


@dataclass
class NewTask(Generic[R_co]):
    """A task with its arguments, made by `Task.bind`. Nothing is written yet.

    Attributes:
        name: the name of the job.
        queue_name: its queue.
        prefix: the prefix of the queue's keys.
        data: the arguments as JSON.
        opts: the options of the job.
        producer: adds it.
    """

    name: str
    queue_name: str
    prefix: str
    data: dict[str, JSON] = field(repr=False)
    opts: JobOptions
    producer: Producer = field(repr=False, compare=False)

    def flow(self, children: Iterable[NewTask[Any] | Flow] = ()) -> Flow:
        """Return it as a job of a flow, for `FlowProducer.add`. This is when middleware sees it.

        Args:
            children: tasks, or dicts of jobs, that must complete before it starts.

        Raises:
            RuntimeError: the registry is eager: flows need Redis.
        """
        self.producer.need_redis("FlowProducer")
        below = [child.flow() if isinstance(child, NewTask) else child for child in children]
        new = self.producer.prepared(self)
        node: Flow = {
            "name": new.name,
            "queue_name": new.queue_name,
            "prefix": new.prefix,
            "data": new.data,
            "opts": new.opts,
        }
        return {**node, "children": below} if below else node

    def template(self) -> JobTemplate:
        """Return it as the template of a job scheduler, for `Queue.upsert_job_scheduler`.

        Middleware does not see it.
        """
        return {"name": self.name, "data": self.data, "opts": self.opts}


def enqueue_many(tasks: Iterable[NewTask[R]], *, timeout: Duration | None = None) -> list[TaskJob[R]]:
    """Add many jobs with one `Queue.add_bulk` for each queue.

    Args:
        tasks: what `Task.bind` returned; the tasks may be different ones.
        timeout: ms that a round trip may take; 10,000 by default.

    Returns:
        The jobs in the order given.

    Raises:
        InvalidOptionError: one of them is no bound task, or an option is invalid; nothing was added.
        ConnectionLostError, OutcomeUnknownError, RedisServerError: some of the jobs may have been added.

    Redis:
        See `Queue.add_bulk`.
    """
    return run_blocking(_add_all(list(tasks), timeout))


async def aenqueue_many(tasks: Iterable[NewTask[R]], *, timeout: Duration | None = None) -> list[AsyncTaskJob[R]]:
    """Add many jobs; see `enqueue_many`.

    Args:
        tasks: see there.
        timeout: see there.

    Returns:
        The jobs in the order given; their calls are awaited.
    """
    return [job.aio for job in await run_async(_add_all(list(tasks), timeout))]


async def _add_all(tasks: list[NewTask[Any]], timeout: Duration | None) -> list[TaskJob[Any]]:
    limit = None if timeout is None else checks.positive_milliseconds("timeout", timeout)
    by_producer: dict[int, tuple[Producer, list[int]]] = {}
    for position, task in enumerate(tasks):
        if not isinstance(task, NewTask):
            raise InvalidOptionError(f"enqueue_many() takes what task.bind(...) returns, not {type(task).__name__}")
        by_producer.setdefault(id(task.producer), (task.producer, []))[1].append(position)
    if len(by_producer) == 1:
        return await tasks[0].producer.add_many(tasks, limit)
    jobs: list[TaskJob[Any] | None] = [None] * len(tasks)
    for producer, positions in by_producer.values():
        added = await producer.add_many([tasks[position] for position in positions], limit)
        for position, job in zip(positions, added, strict=True):
            jobs[position] = job
    return jobs  # type: ignore[return-value]
