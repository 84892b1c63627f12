"""What a registry takes as a task, and registries that include others."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

import pytest

from bullrush import Depends, Middleware, Tasks, Worker, enqueue_many
from bullrush.errors import ConnectionLostError, InvalidOptionError, JobFailedError, UnknownOptionError
from bullrush.retries import FAIL


def work_off(tasks: Tasks, **options: Any) -> Any:
    with Worker(tasks, **options) as worker:
        return worker.run(until="empty")


def test_partials_and_objects_are_tasks_with_their_annotations(tasks):
    class Later:
        async def __call__(self, when: datetime) -> datetime:
            return when

    def shifted(hours: int, when: datetime) -> datetime:
        return when + timedelta(hours=hours)

    noon = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)
    jobs = [
        tasks.task(name="later")(Later()).enqueue(noon),
        tasks.task(name="shifted")(partial(shifted, 1)).enqueue(noon),
    ]
    assert work_off(tasks).completed == 2
    assert [job.result() for job in jobs] == [noon, noon + timedelta(hours=1)]


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_a_coroutine_as_a_result_says_what_is_missing(tasks):
    async def real() -> int:
        return 1

    wrapped = tasks.task(name="wrapped")(lambda: real())
    job = wrapped.using(attempts=1).enqueue()
    assert work_off(tasks).failed == 1
    with pytest.raises(JobFailedError, match="coroutine is not JSON serializable; await it, .* an async def"):
        job.result()


def test_a_registry_includes_others_inside_its_middleware(tasks, redis_url, queue_name):
    order: list[str] = []

    class Noting(Middleware):
        def __init__(self, name: str) -> None:
            self.name = name

        @contextmanager
        def around(self, job: Any) -> Iterator[None]:
            order.append(self.name)
            yield

        @asynccontextmanager
        async def aaround(self, job: Any) -> AsyncIterator[None]:
            order.append(f"async {self.name}")
            yield

    app = Tasks(queue_name, url=redis_url, middleware=[Noting("app")])
    billing = Tasks(queue_name, url=redis_url, middleware=[Noting("billing")])
    app.include(billing)

    @app.task
    def ping() -> None: ...

    @billing.task
    async def charge() -> None: ...

    enqueue_many([ping.bind(), charge.bind()])
    assert work_off(app, concurrency=1).completed == 2
    assert sorted(order) == ["app", "async app", "async billing"]
    billing.task(name="ping")(lambda: None)
    with pytest.raises(InvalidOptionError, match="'ping'"):
        app.routes()
    with pytest.raises(InvalidOptionError, match="start a worker for each queue"):
        app.include(Tasks("other"))
    with pytest.raises(InvalidOptionError, match="another URL"):
        app.include(Tasks(queue_name, url="redis://127.0.0.1:1"))
    with pytest.raises(InvalidOptionError, match="takes other Tasks"):
        app.include(queue_name)
    with pytest.raises(InvalidOptionError, match="no tasks"):
        Tasks(queue_name).routes()


@pytest.mark.parametrize("is_async", [False, True])
def test_included_tasks_share_the_values_of_the_worker(tasks, redis_url, queue_name, is_async):
    life: list[str] = []

    @contextmanager
    def lifespan() -> Iterator[None]:
        life.append("start")
        yield
        life.append("stop")

    @contextmanager
    def pool() -> Iterator[str]:
        life.append("open")
        yield "pool"
        life.append("close")

    def plain(*, pool: str = Depends(pool, scope="worker")) -> str:
        return pool

    async def awaited(*, pool: str = Depends(pool, scope="worker")) -> str:
        return pool

    billing = Tasks(queue_name, url=redis_url, lifespan=lifespan)
    tasks.include(billing)
    for registry, name in (tasks, "one"), (billing, "two"), (billing, "three"):
        registry.task(name=name)(awaited if is_async else plain).enqueue()
    assert work_off(tasks).completed == 3
    assert life == ["start", "open", "close", "stop"]


def test_a_registry_that_is_included_by_several_ways_counts_once():
    app, billing, mail, shared = (Tasks("app") for _ in range(4))
    shared.task(name="shared")(lambda: None)
    billing.include(shared)
    mail.include(shared)
    app.include(billing, mail, shared)
    app.include(mail)
    assert list(app.routes()) == ["shared"]


def test_included_registries_are_eager_with_the_one_that_includes_them():
    app, billing, mail = Tasks("app"), Tasks("app"), Tasks("app")
    double = mail.task(name="double")(lambda number: number * 2)
    billing.include(mail)
    app.include(billing)
    app.eager = True
    assert double.enqueue(21).result() == 42
    app.eager = False
    assert not mail.eager
    Tasks("app", eager=True).include(mail)
    assert mail.eager


def test_registries_cannot_include_each_other():
    app, billing, mail = (Tasks("app") for _ in range(3))
    app.include(billing)
    billing.include(mail)
    for inner in (app, billing, mail):
        with pytest.raises(InvalidOptionError, match="only one of two can include the other"):
            inner.include(app)


def test_a_classifier_of_a_task_must_be_a_plain_function() -> None:
    async def classify(error: BaseException) -> Any:
        return FAIL

    with pytest.raises(InvalidOptionError, match="retry_if must be a plain function, not an async def"):
        Tasks("q").task(retry_if=classify)


def test_a_registry_says_how_long_a_call_waits_for_redis():
    tasks = Tasks("mail", url="redis://127.0.0.1:1", redis_timeout=50)

    @tasks.task
    def send():
        pass

    began = time.monotonic()
    with pytest.raises(ConnectionLostError, match="within 50 ms"):
        send.enqueue()
    assert time.monotonic() - began < 5
    with pytest.raises(UnknownOptionError, match="redis_timeout="):
        Tasks("mail", timeout=500)
    with pytest.raises(InvalidOptionError, match="redis_timeout"):
        Tasks("mail", redis_timeout="soon")
