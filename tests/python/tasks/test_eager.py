"""A registry that is eager runs a task when it is enqueued, with all that a worker does around it, and no Redis."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import date
from typing import Any

import pytest

from bullrush import Depends, FlowProducer, Middleware, Tasks, aenqueue_many, aio, current_job, enqueue_many
from bullrush.errors import DataError, InvalidOptionError

SEEN: list[str] = []


@pytest.fixture
def eager() -> Tasks:
    SEEN.clear()
    return Tasks("mail", url="redis://127.0.0.1:1", eager=True, middleware=[Noting()])


class Noting(Middleware):
    @contextmanager
    def around(self, job: Any) -> Iterator[None]:
        SEEN.append(f"before {job.name}")
        try:
            yield
        finally:
            SEEN.append(f"after {job.name}")


@contextmanager
def connection() -> Iterator[str]:
    SEEN.append("connect")
    yield "connection"
    SEEN.append("disconnect")


@asynccontextmanager
async def pool(connection: str = Depends(connection, scope="worker")) -> AsyncIterator[str]:
    SEEN.append("open")
    yield f"pool of {connection}"
    SEEN.append("shut")


def test_a_task_runs_when_it_is_enqueued_and_its_job_has_the_result(eager):
    @eager.task
    def add(a: int, b: int) -> int:
        return a + b

    @eager.task
    async def tomorrow(day: date) -> date:
        return day.replace(day=day.day + 1)

    assert add.enqueue(1, b=2).result() == 3
    assert [job.result(1) for job in enqueue_many([add.bind(1, 1), add.bind(2, 2)])] == [2, 4]
    assert tomorrow.enqueue(date(2024, 1, 1)).result() == date(2024, 1, 2)

    async def awaited() -> date:
        return await (await tomorrow.aenqueue(date(2024, 1, 2))).result()

    assert asyncio.run(awaited()) == date(2024, 1, 3)


def test_a_task_and_its_dependencies_know_their_job(eager):
    def name_of_job() -> str:
        return current_job().name

    @eager.task
    def plain(*, name: str = Depends(name_of_job)) -> str:
        return f"{name} {current_job().id}"

    @eager.task
    async def awaited(*, name: str = Depends(name_of_job)) -> str:
        return f"{name} {aio.current_job().id}"

    for task in plain, awaited:
        job = task.enqueue()
        assert job.result() == f"{task.name} {job.id}"
    with pytest.raises(LookupError, match="no job runs here"):
        current_job()


def reported(job: Any) -> Any:
    """Return what the calls of an eager job have left in it."""
    return job.progress, job.logged, job.data, job.attempts_started, job.priority, job.queue_name


@pytest.mark.parametrize("enqueued", ["enqueue", "aenqueue", "enqueue_many", "aenqueue_many"])
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_task_reports_and_logs_without_redis(eager, kind, enqueued):
    @eager.task(priority=3, target={"capabilities": ["gpu"]}, name="def")
    def plain(page: int) -> date:
        job = current_job()
        job.update_progress(50, f"page {page}")
        assert (job.log("half"), job.get_state(), job.get_children_values()) == (2, "active", {})
        job.update_data({"page": page + 1})
        job.check_cancelled()
        return date(2024, 1, page)

    @eager.task(priority=3, target={"capabilities": ["gpu"]}, name="async def")
    async def awaited(page: int) -> date:
        job = aio.current_job()
        await job.update_progress(50, f"page {page}")
        assert (await job.log("half"), await job.get_state(), await job.get_children_values()) == (2, "active", {})
        await job.update_data({"page": page + 1})
        job.check_cancelled()
        return date(2024, 1, page)

    task = {"def": plain, "async def": awaited}[kind]

    async def asynchronous() -> tuple[Any, ...]:
        job = await task.aenqueue(7) if enqueued == "aenqueue" else (await aenqueue_many([task.bind(7)]))[0]
        await job.refresh()
        return job, await job.get_state(), await job.is_completed(), await job.result()

    def blocking() -> tuple[Any, ...]:
        job = task.enqueue(7) if enqueued == "enqueue" else enqueue_many([task.bind(7)])[0]
        job.refresh()
        return job, job.get_state(), job.is_completed(), job.result()

    job, *seen = asyncio.run(asynchronous()) if enqueued[0] == "a" else blocking()
    assert seen == ["completed", True, date(2024, 1, 7)]
    assert reported(job) == (50, ["page 7", "half"], {"page": 8}, 1, 3, "mail")
    assert job.returnvalue == "2024-01-07"
    assert job.processed_on <= job.finished_on


def test_a_call_of_an_eager_job_that_needs_redis_says_at_once_what_to_use(eager):
    @eager.task
    def later() -> None:
        current_job().move_to_delayed(0)

    with pytest.raises(RuntimeError, match="An eager task runs without Redis.* use the fixture bullrush_url"):
        later.enqueue()


def test_what_needs_redis_is_refused_before_anything_is_written(redis_url, queue_name, redis):
    eager, stored = Tasks(queue_name, url=redis_url, eager=True), Tasks(queue_name, url=redis_url)
    total, part = eager.task(name="total")(lambda: None), stored.task(name="part")(lambda: None)

    async def awaited(call: str) -> Any:
        async with aio.FlowProducer(url=redis_url) as producer:
            flow = total.bind().flow(children=[part.bind()])
            await (producer.add(flow) if call == "add" else producer.add_bulk([flow]))

    with FlowProducer(url=redis_url) as producer:
        for call in (
            lambda: producer.add(total.bind().flow(children=[part.bind()])),
            lambda: producer.add_bulk([part.bind().flow(), part.bind().flow(children=[total.bind()])]),
            lambda: asyncio.run(awaited("add")),
            lambda: asyncio.run(awaited("add_bulk")),
        ):
            with pytest.raises(RuntimeError, match=r"FlowProducer needs one: .* a registry with eager=False, and run"):
                call()
    for call in lambda: total.get_job("1"), lambda: asyncio.run(total.aget_job("1")):
        with pytest.raises(RuntimeError, match=r"An eager task runs without Redis, and get_job\(\) needs one"):
            call()
    assert list(redis.scan_iter(f"bull:{queue_name}:*")) == []


def test_an_error_of_the_task_comes_out_of_enqueue(eager):
    @eager.task
    def fail() -> None:
        raise LookupError("nobody")

    with pytest.raises(LookupError, match="nobody"):
        fail.enqueue()
    assert SEEN == ["before fail", "after fail"]


def test_a_result_without_a_form_in_json_is_an_error_as_with_a_worker(eager):
    @eager.task
    def broken() -> Any:
        return object()

    with pytest.raises(DataError, match="returnvalue"):
        broken.enqueue()


def test_dependencies_end_in_reverse_order_inside_the_middleware(eager):
    @eager.task
    async def store(*, pool: str = Depends(pool), again: str = Depends(pool), now: str = Depends(connection)) -> str:
        SEEN.append("run")
        return f"{pool}, {again}, {now}"

    assert store.enqueue().result() == "pool of connection, pool of connection, connection"
    order = ["before store", "connect", "open", "connect", "run", "disconnect", "shut", "disconnect", "after store"]
    assert order == SEEN


def test_a_def_refuses_what_needs_an_event_loop(eager):
    @eager.task
    def seen_at_once(*, pool: str = Depends(pool)) -> None: ...

    async def later() -> int:
        return 1

    @eager.task
    def seen_at_the_call(*, one: Any = Depends(lambda: later())) -> None: ...

    for task in seen_at_once, seen_at_the_call:
        with pytest.raises(InvalidOptionError, match="event loop"):
            task.enqueue()


def test_a_blocking_call_of_a_coroutine_on_a_loop_leads_to_its_twin(eager):
    @eager.task
    async def later() -> int:
        return 1

    async def main() -> None:
        with pytest.raises(RuntimeError, match=r"await the twin of this call, aenqueue\(\)"):
            later.enqueue()
        assert await (await later.aenqueue()).result() == 1

    asyncio.run(main())


def test_middleware_adds_options_and_data_that_the_function_does_not_get():
    class Tenant(Middleware):
        def on_enqueue(self, task: Any) -> Any:
            task.data["_tenant"] = "acme"
            task.opts["priority"] = 3
            return task

        @contextmanager
        def around(self, job: Any) -> Iterator[None]:
            SEEN.append(job.data["_tenant"])
            yield

    SEEN.clear()
    tasks = Tasks("mail", eager=True, middleware=[Tenant()])

    @tasks.task(attempts=3)
    def greet(name: str) -> str:
        return name

    assert greet.enqueue("Ada").result() == "Ada"
    assert SEEN == ["acme"]
    assert greet.opts == {"attempts": 3}
