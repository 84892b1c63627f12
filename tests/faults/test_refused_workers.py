"""Every class of refusal, at every moment, for every kind of worker: each goes on when Redis takes its calls again."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Tasks, Worker, aio
from bullrush.embedded import EmbeddedRedis
from tests.waiting import wait_until

from .refusing_server import RefusingServer
from .test_refusal_classes import TABLE

#: A code for each class and each follower.
CLASSES = {(kind, followed): code for code, kind, followed in reversed(TABLE)}

#: What each kind of worker sends first, beside its reads.
FIRST = {
    "plain": {"move_to_active"},
    "cron": {"move_to_active", "SADD"},
    "django": {"move_to_active"},
    "aio": {"move_to_active", "SADD"},
}
#: The name of the job that each of them runs.
NAMES = {"plain": "work", "cron": "work", "django": "tests.python.django.shop.tasks.welcome", "aio": "work"}

RUNS: list[str] = []
GATE = threading.Event()


def work(*_: Any, **__: Any) -> None:
    RUNS.append("work")
    GATE.wait(20)


def registry(url: str, function: Any) -> Tasks:
    tasks = Tasks("work", url=url)
    tasks.task(name=NAMES["cron"])(function)
    tasks.cron("0 3 * * *", tz="UTC", name="nightly")(lambda: None)
    return tasks


def plain(url: str, options: dict[str, Any]) -> Any:
    return nullcontext(Worker("work", work, url=url, **options))


def cron(url: str, options: dict[str, Any]) -> Any:
    return nullcontext(Worker(registry(url, lambda: work()), **options))


def in_a_loop(url: str, options: dict[str, Any]) -> Any:
    async def work_in_a_thread() -> None:
        await asyncio.to_thread(work)

    return nullcontext(aio.Worker(registry(url, work_in_a_thread), **options))


@contextmanager
def django(url: str, options: dict[str, Any]) -> Iterator[Worker]:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.python.django.shop.settings")
    pytest.importorskip("django").setup()
    from django.test import override_settings

    from bullrush.django.framework import task_started
    from bullrush.django.workers import make_workers

    task_started.connect(work)
    given = {"url": url, "worker_options": options}
    backend = {"BACKEND": "bullrush.django.BullrushBackend", "QUEUES": ["default", "mails", "work"], "OPTIONS": given}
    with override_settings(TASKS={"default": backend}):
        yield next(worker for worker in make_workers() if worker.name == "work")


KINDS = {"plain": plain, "cron": cron, "django": django, "aio": in_a_loop}


@contextmanager
def running(worker: Any) -> Iterator[Callable[[], bool]]:
    """Run a worker, and return a function that tells whether it still runs."""
    is_aio = isinstance(worker, aio.Worker)
    thread = threading.Thread(target=(lambda: asyncio.run(worker.run())) if is_aio else worker.run)
    thread.start()
    try:
        yield thread.is_alive
    finally:
        GATE.set()
        closing = worker.close()
        if is_aio:
            asyncio.run(closing)
        thread.join()


@pytest.fixture(scope="module")
def refusing() -> Iterator[RefusingServer]:
    with EmbeddedRedis(port=0) as redis, RefusingServer(int(redis.url.rsplit(":", 1)[1].split("/")[0])) as server:
        yield server


@pytest.fixture
def behind(refusing: RefusingServer) -> Iterator["Redis[str]"]:
    """Return a client of the Redis behind the server that refuses."""
    RUNS.clear()
    GATE.clear()
    with Redis(port=refusing.redis_port, decode_responses=True) as client:
        yield client
        refusing.refuse("", "", times=0)
        client.flushall()


ROWS = [("plain", *row) for row in TABLE] + [
    (kind, code, *refusal) for kind in ("cron", "django", "aio") for refusal, code in CLASSES.items()
]


@pytest.mark.parametrize(("kind", "code", "refusal", "followed"), ROWS, ids=[f"{row[0]}-{row[1]}" for row in ROWS])
def test_a_worker_goes_on_after_a_refusal(kind, code, refusal, followed, refusing, behind, caplog):
    """At its start, while it waits for jobs, and when it has an outcome."""
    error = f"{code} refused by a test"
    # An outcome that nobody keeps is lost, and its job runs again when its lock has expired.
    lost = followed == "nobody"
    soon = {"lock_duration": 400, "stalled_interval": 100, "max_stalled_count": 9} if lost else {}
    options = {"run_retry_delay": 50, **soon}
    data = {"user_id": 1} if kind == "django" else {}
    GATE.set()
    refusing.refuse(FIRST[kind], error, times=1)
    with (
        Queue("work", url=f"redis://127.0.0.1:{refusing.redis_port}") as queue,
        KINDS[kind](refusing.url, options) as worker,
        running(worker) as runs,
    ):

        def goes_on(completed: int) -> None:
            wait_until(lambda: queue.get_completed_count() == completed, f"job {completed} is done")
            wait_until(lambda: refusing.left == 0, "all was refused")
            assert runs()

        queue.add(NAMES[kind], data)
        goes_on(1)
        if kind in {"cron", "aio"}:
            wait_until(lambda: queue.get_job_schedulers_count() == 1, "the scheduler is made")
        wait_until(lambda: int(behind.info("clients")["blocked_clients"]), "it waits for jobs")
        refusing.refuse({"move_to_active", "BZPOPMIN"}, error, times=1)
        queue.add(NAMES[kind], data)
        goes_on(2)
        GATE.clear()
        queue.add(NAMES[kind], data)
        wait_until(lambda: len(RUNS) == 3, "the job runs")
        refusing.refuse("move_to_finished", error, times=1)
        GATE.set()
        goes_on(3)
    assert len(RUNS) == (4 if lost else 3)
    assert error in caplog.text or followed == "every call"
