"""A registry that is eager runs a task when it is enqueued, with all that a worker does around it, and no Redis."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import date
from typing import Any

import pytest

from bullrush import Depends, Middleware, Tasks, aio, current_job, enqueue_many
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
        return await (await tomorrow.aenqueue(date(2024, 1, 2))).aresult()

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
        assert await (await later.aenqueue()).aresult() == 1

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
