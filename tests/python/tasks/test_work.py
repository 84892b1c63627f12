"""A worker runs the tasks of a registry by the names of jobs."""

import asyncio
import json
import logging
import pickle
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Annotated, Any

import pydantic
import pytest
from redis import Redis

from bullrush import Depends, Queue, Tasks, Worker, aenqueue_many, aio, current_job, enqueue_many
from bullrush.errors import DataError, JobFailedError, PermanentError
from bullrush.retries import FAIL


@dataclass
class Receipt:
    user: int
    at: datetime


def work_off(tasks: Tasks, **options: Any) -> Any:
    with Worker(tasks, **options) as worker:
        return worker.run(until="empty")


def test_arguments_and_results_have_their_types_on_both_sides(tasks):
    seen: list[Any] = []

    @tasks.task
    def pay(user: int, at: datetime, *, note: str = "none") -> Receipt:
        seen.append((user, at, note))
        return Receipt(user, at)

    noon = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)
    job = pay.enqueue(7, noon)
    assert work_off(tasks).completed == 1
    assert seen == [(7, noon, "none")]
    assert job.result(1_000) == Receipt(7, noon)
    assert asyncio.run(job.aio.result(1_000)) == Receipt(7, noon)
    assert (job.get_state(), asyncio.run(job.aio.get_state())) == ("completed", "completed")


def test_all_calls_of_a_job_that_was_enqueued_on_a_loop_are_awaited(tasks):
    @tasks.task
    async def endless() -> None:
        await aio.current_job().update_progress(50)
        await asyncio.Event().wait()

    @tasks.task
    async def pay(user: int) -> Receipt:
        return Receipt(user, noon)

    noon = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)

    async def look() -> None:
        job = await endless.aenqueue()
        assert (await job.get_state(), await job.is_waiting(), job.progress) == ("waiting", True, 0)
        async with aio.Worker(tasks, autorun=True):
            while job.progress != 50:
                await job.refresh()
            assert await job.cancel("not needed any more")
            with pytest.raises(JobFailedError, match="not needed any more"):
                await job.result(10_000)
            await job.refresh()
            assert job.failed_reason == "not needed any more"
            for paid in (await pay.aenqueue(7), *await aenqueue_many([pay.bind(7)])):
                assert await paid.result(10_000) == Receipt(7, noon)
                found = await pay.aget_job(paid.id)
                assert found is not None and await found.is_completed()
                await found.remove()

    asyncio.run(look())


def test_a_job_is_found_again_by_its_id_and_its_result_has_its_type(tasks, redis_url, queue_name):
    noon = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)

    def pay(user: int) -> Receipt:
        return Receipt(user, noon)

    tasks.task(name="other")(pay)
    job_id = tasks.task(pay).enqueue(7).id
    assert work_off(tasks).completed == 1
    # As another process would do it.
    elsewhere = Tasks(queue_name, url=redis_url)
    task, other = elsewhere.task(pay), elsewhere.task(name="other")(pay)
    found = task.get_job(job_id)
    assert found is not None and found.result() == Receipt(7, noon)

    async def awaited() -> Any:
        job = await task.aget_job(job_id)
        return job and await job.result()

    assert asyncio.run(awaited()) == Receipt(7, noon)
    assert (task.get_job("none"), other.get_job(job_id), asyncio.run(other.aget_job(job_id))) == (None, None, None)
    elsewhere.close()


def test_one_worker_runs_def_on_threads_and_async_def_on_a_loop(tasks):
    @tasks.task
    def blocking() -> str:
        return threading.current_thread().name

    @tasks.task
    async def awaited() -> bool:
        return asyncio.get_running_loop().is_running()

    jobs = enqueue_many([blocking.bind(), awaited.bind()])
    assert work_off(tasks, concurrency=2).completed == 2
    assert jobs[1].result() is True
    assert jobs[0].result() != "MainThread"


@pytest.mark.parametrize("data", [{"user_id": "secret"}, {}, {"user_id": 1, "x": 1}, None, [1]])
def test_data_that_does_not_fit_fails_the_job_at_once_with_the_path(tasks, queue, data):
    ran: list[int] = []

    @tasks.task
    def welcome(user_id: int) -> None:
        ran.append(user_id)

    job = queue.add("welcome", data, attempts=5)
    assert work_off(tasks).failed == 1
    failed = queue.get_job(job.id)
    assert (failed.attempts_made, ran) == (1, [])
    assert failed.failed_reason.startswith(f"Task welcome, job {job.id}: data")
    assert "secret" not in failed.failed_reason


class Card(pydantic.BaseModel):
    number: Annotated[str, pydantic.AfterValidator(lambda number: int(number) and number)]


def test_data_that_a_validator_refuses_is_in_no_log_line_and_not_in_the_job(tasks, caplog):
    @tasks.task
    def pay(card: Card) -> None: ...

    caplog.set_level(logging.DEBUG)
    with Queue(tasks.queue, url=tasks.url) as queue:
        job_id = queue.add("pay", {"card": {"number": "planted"}}).id
        work_off(tasks)
        failed = queue.get_job(job_id)
    assert failed.failed_reason.endswith("data.card.number: refused by a validator (value_error)")
    assert "failed for good" in caplog.text
    formatted = "".join(logging.Formatter().format(record) for record in caplog.records)
    assert "planted" not in formatted + caplog.text + "".join(failed.stacktrace)


def test_an_error_of_a_task_is_retried_and_then_raised_by_result(tasks):
    runs: list[str] = []

    @tasks.task(attempts=3)
    def fetch(what: str) -> None:
        runs.append(what)
        raise LookupError(what)

    job = fetch.enqueue("page")
    work_off(tasks)
    assert runs == ["page"] * 3
    with pytest.raises(JobFailedError, match="page"):
        job.result(1_000)


def test_retry_if_fails_a_job_that_has_attempts_left(tasks):
    runs: list[str] = []

    def only_lookups(error: BaseException) -> Any:
        return FAIL if isinstance(error, LookupError) else None

    @tasks.task(attempts=3, retry_if=only_lookups)
    def fetch(what: str) -> None:
        runs.append(what)
        raise (LookupError if what == "user" else OSError)(what)

    enqueue_many([fetch.bind("user"), fetch.bind("page")])
    assert work_off(tasks).failed == 2
    assert sorted(runs) == ["page"] * 3 + ["user"]


def test_retry_if_may_answer_with_a_bool(tasks):
    runs: list[str] = []

    @tasks.task(attempts=3, retry_if=lambda error: isinstance(error, ConnectionError))
    def fetch(what: str) -> None:
        runs.append(what)
        raise (LookupError if what == "user" else ConnectionError)(what)

    enqueue_many([fetch.bind("user"), fetch.bind("page")])
    assert work_off(tasks).failed == 2
    assert sorted(runs) == ["page"] * 3 + ["user"]


def test_a_wrong_answer_of_retry_if_names_the_task(tasks, caplog):
    @tasks.task(attempts=2, retry_if=lambda error: "yes")
    def fetch() -> None:
        raise OSError("page")

    fetch.enqueue()
    assert work_off(tasks).retried == 1
    assert "retry_if of task 'fetch' must return RETRY or True, " in caplog.text
    assert "not 'yes': the options of job 1 decide instead" in caplog.text


def test_new_data_of_a_job_must_fit_its_task(tasks):
    @tasks.task
    def greet(user: int, day: date | None = None) -> str:
        return f"{user} {day}"

    job = greet.enqueue(7)
    found = greet.get_job(job.id)
    assert found is not None

    async def awaited(data: Any) -> None:
        await found.aio.update_data(data)

    for data, says in [
        ({"user": "Ada"}, "greet: data.user"),
        ({"user": 7, "dya": "2024-01-01"}, "greet: data.dya"),
        ({}, "greet: data.user"),
        ([7], "greet: data must be an object, not list"),
        ({"user": 7, "day": date(2024, 1, 1)}, "data.day: date is not JSON serializable"),
    ]:
        for update in found.update_data, lambda data: asyncio.run(awaited(data)):
            with pytest.raises(DataError, match=re.escape(says)):
                update(data)
    assert greet.get_job(job.id).data == {"user": 7}
    job.update_data({"user": 8, "day": "2024-01-01", "_tenant": "acme"})
    assert work_off(tasks).completed == 1
    assert job.result(1_000) == "8 2024-01-01"


def test_a_task_knows_the_job_that_runs_it(tasks):
    @tasks.task
    def plain() -> str:
        return current_job().id

    @tasks.task
    async def awaited() -> str:
        return aio.current_job().id

    jobs = enqueue_many([plain.bind(), awaited.bind(), plain.bind()])
    work_off(tasks)
    assert [job.result(1_000) for job in jobs] == [job.id for job in jobs]


def test_a_task_has_its_own_time_limit(tasks):
    @tasks.task(timeout=50, attempts=1)
    async def slow() -> None:
        await asyncio.sleep(30)

    job = slow.enqueue()
    assert work_off(tasks).failed == 1
    with pytest.raises(JobFailedError):
        job.result(1_000)


LIFE: list[str] = []


@contextmanager
def connection() -> Iterator[str]:
    LIFE.append("connect")
    yield "connection"
    LIFE.append("disconnect")


@asynccontextmanager
async def pool() -> AsyncIterator[str]:
    LIFE.append("open")
    yield "pool"
    LIFE.append("shut")


@asynccontextmanager
async def lifespan() -> AsyncIterator[None]:
    LIFE.append("start")
    yield
    LIFE.append("stop")


@pytest.fixture
def living(tasks: Tasks, redis_url: str, queue_name: str) -> Tasks:
    LIFE.clear()
    return Tasks(queue_name, url=redis_url, lifespan=lifespan)


def test_values_of_the_worker_live_as_long_as_its_run_and_those_of_a_job_as_long_as_the_job(living):
    @living.task
    async def query(*, pool: str = Depends(pool, scope="worker"), own: str = Depends(connection)) -> str:
        return f"{pool} {own}"

    jobs = enqueue_many([query.bind() for _ in range(3)])
    work_off(living)
    assert [job.result(1_000) for job in jobs] == ["pool connection"] * 3
    assert ["start", "open", *["connect", "disconnect"] * 3, "shut", "stop"] == LIFE


def test_threads_share_one_value_of_the_worker(living):
    @living.task
    def query(*, connection: str = Depends(connection, scope="worker")) -> str:
        return connection

    enqueue_many([query.bind() for _ in range(20)])
    assert work_off(living, concurrency=4).completed == 20
    assert LIFE == ["start", "connect", "disconnect", "stop"]


def test_a_slow_value_of_the_worker_is_made_once_although_the_time_of_the_first_job_ends(tasks):
    made: list[str] = []

    async def slow_pool() -> str:
        made.append("pool")
        await asyncio.sleep(0.25)
        return "pool"

    @tasks.task(timeout=100, attempts=10, backoff=50)
    async def brief(*, pool: str = Depends(slow_pool, scope="worker")) -> str:
        return pool

    @tasks.task
    async def waiting(*, pool: str = Depends(slow_pool, scope="worker")) -> str:
        return pool

    jobs = enqueue_many([brief.bind(), waiting.bind(), waiting.bind()])
    with Worker(tasks, concurrency=3) as worker:
        stats = worker.run(until="drained")
    assert (stats.completed, stats.failed, stats.retried > 0) == (3, 0, True)
    assert [job.result() for job in jobs] == ["pool"] * 3
    assert made == ["pool"]


def test_an_awaited_worker_runs_both_kinds(living):
    @living.task
    def blocking(*, connection: str = Depends(connection, scope="worker")) -> str:
        return connection

    @living.task
    async def awaited(*, pool: str = Depends(pool, scope="worker")) -> str:
        return pool

    async def work() -> list[str]:
        jobs = [await blocking.aenqueue(), await awaited.aenqueue()]
        async with aio.Worker(living) as worker:
            await worker.run(until="empty")
        return [await job.result() for job in jobs]

    assert asyncio.run(work()) == ["connection", "pool"]
    assert sorted(LIFE) == sorted(["start", "connect", "open", "shut", "disconnect", "stop"])


class Declined(Exception):
    """An error of a module of its own."""


@pytest.mark.parametrize("error", [ConnectionError("down"), Declined("two: parts\nand lines"), PermanentError()])
@pytest.mark.parametrize("way", ["poll", "events"])
def test_the_class_of_the_error_is_in_what_result_raises(tasks: Tasks, error: Exception, way: Any) -> None:
    @tasks.task(attempts=1)
    def fail() -> None:
        raise error

    job = fail.enqueue()
    with Worker(tasks) as worker:
        worker.run(until="drained")
    with pytest.raises(JobFailedError) as raised:
        job.result(timeout=5_000, via=way)
    assert raised.value.error_type == type(error).__name__
    assert str(raised.value) == (str(error) or type(error).__name__)
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (str(copy), copy.error_type) == (str(raised.value), raised.value.error_type)


def test_a_failure_of_node_and_a_job_without_a_stack_trace_have_no_class(tasks: Tasks, redis: Redis) -> None:
    @tasks.task(attempts=1)
    def fail() -> None:
        raise ValueError("no")

    job = fail.enqueue()
    with Worker(tasks) as worker:
        worker.run(until="drained")
    node = "TypeError: no\n    at handle (/app/worker.js:3:9)"
    for stacks in (json.dumps([node]), "[]", "{", json.dumps([7])):
        redis.hset(f"bull:{tasks.queue}:{job.id}", "stacktrace", stacks)
        with pytest.raises(JobFailedError, match="no") as raised:
            job.result(timeout=5_000)
        assert raised.value.error_type is None
