"""A program of typed tasks as users write it, for type checkers. It is never run."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from typing_extensions import assert_type

from bullrush import (
    AsyncTaskJob,
    Depends,
    FlowProducer,
    Job,
    Middleware,
    Queue,
    Task,
    TaskJob,
    Tasks,
    Worker,
    aenqueue_many,
    aio,
    current_job,
    enqueue_many,
)
from bullrush.retries import FAIL, Retry, Verdict
from bullrush.tasks import NewTask


@dataclass
class Receipt:
    user_id: int


class Pool:
    async def fetch(self, user_id: int) -> str:
        return str(user_id)


@asynccontextmanager
async def open_pool() -> AsyncIterator[Pool]:
    yield Pool()


@contextmanager
def open_file() -> Iterator[int]:
    yield 1


async def settings() -> dict[str, str]:
    return {}


def clock() -> datetime:
    return datetime.now()


class Traced(Middleware):
    def on_enqueue(self, task: NewTask[Any]) -> NewTask[Any]:
        return replace(task, opts={**task.opts, "priority": 2})

    def around(self, job: Any) -> AbstractContextManager[object]:
        return open_file()

    def aaround(self, job: aio.Job) -> AbstractAsyncContextManager[object]:
        return open_pool()


def only_lookups(error: BaseException) -> Verdict | None:
    return Retry(delay=timedelta(seconds=5)) if isinstance(error, LookupError) else FAIL


tasks = Tasks("mail", default_job_options={"attempts": 3}, middleware=[Traced()], lifespan=open_pool)
others = Tasks("mail")
tasks.include(others)


@tasks.task(timeout=30_000, attempts=5, retry_if=only_lookups)
async def welcome(
    user_id: int,
    *,
    lang: str = "en",
    pool: Pool = Depends(open_pool, scope="worker"),
    file: int = Depends(open_file),
    options: dict[str, str] = Depends(settings),
    now: datetime = Depends(clock),
) -> Receipt:
    return Receipt(int(await pool.fetch(user_id)) + file)


@others.task
def digest(day: datetime, users: list[int]) -> bool:
    return bool(users)


@tasks.cron("0 9 * * 1-5", tz="Europe/Berlin", remove_on_complete=10)
async def report(days: int = 1) -> None: ...


def produce() -> None:
    job = welcome.enqueue(7, lang="de")
    assert_type(job, TaskJob[Receipt])
    assert_type(job.result(timeout=timedelta(seconds=5)), Receipt)
    assert_type(job.id, str)
    assert_type(digest.enqueue(day=clock(), users=[1]).result(), bool)
    assert_type(welcome.get_job("7"), TaskJob[Receipt] | None)
    later = welcome.using(delay=60_000, priority=2)
    later.enqueue(7)
    many: list[TaskJob[Receipt]] = enqueue_many([welcome.bind(n) for n in range(3)], timeout=1_000)
    mixed = enqueue_many([welcome.bind(7), digest.bind(clock(), [1])])
    anything: Task[..., Any] = welcome
    assert_type(digest(clock(), [1]), bool)
    assert_type(welcome.bind(7), NewTask[Receipt])
    assert_type(current_job(), Job)
    with FlowProducer() as producer:
        producer.add(welcome.bind(7).flow(children=[digest.bind(clock(), [1])]))
    Queue("mail").upsert_job_scheduler("nightly", {"every": 1_000}, welcome.bind(7).template())
    print(many, mixed, anything, report.enqueue().result())


async def produce_async() -> None:
    job = await welcome.aenqueue(7)
    assert_type(job, AsyncTaskJob[Receipt])
    assert_type(await job.result(), Receipt)
    assert_type(await job.get_state(), str)
    assert_type(await digest.enqueue(clock(), [1]).aio.result(), bool)
    assert_type(await digest.aget_job("7"), AsyncTaskJob[bool] | None)
    assert_type([name async for name in aio.queue_names()], list[str])
    assert_type(aio.current_job(), aio.Job)
    assert_type(await welcome(7, pool=Pool()), Receipt)
    assert_type(await aenqueue_many([digest.bind(clock(), [])]), list[AsyncTaskJob[bool]])
    async with aio.Worker(tasks) as worker:
        await worker.run()


with Worker(tasks, concurrency=8) as worker:
    worker.run(until="drained")
