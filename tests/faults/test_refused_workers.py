"""Every class of refusal, at every moment, for every kind of worker: each goes on when Redis takes its calls again."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
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
#: What is refused to a kind of worker when it starts.
FIRST = {
    "plain": {"move_to_active"},
    "cron": {"move_to_active", "SADD"},
    "django": {"move_to_active"},
    "aio": {"move_to_active", "SADD"},
}
TASK = "tests.python.django.shop.tasks.welcome"


class Handler:
    """Notes that it runs, and waits while its gate is closed."""

    def __init__(self) -> None:
        self.runs = 0
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, *_: Any, **__: Any) -> None:
        self.runs += 1
        self.gate.wait(20)


def registry(url: str, queue: str, function: Any) -> Tasks:
    tasks = Tasks(queue, url=url)
    tasks.task(name=TASK)(function)
    tasks.cron("0 3 * * *", tz="UTC", name="nightly")(lambda: None)
    return tasks


def plain(url: str, handler: Handler, options: dict[str, Any]) -> Any:
    return nullcontext(Worker("plain", handler, url=url, **options))


def cron(url: str, handler: Handler, options: dict[str, Any]) -> Any:
    def work(user_id: int) -> None:
        handler(user_id)

    return nullcontext(Worker(registry(url, "cron", work), **options))


def in_a_loop(url: str, handler: Handler, options: dict[str, Any]) -> Any:
    async def work(user_id: int) -> None:
        await asyncio.to_thread(handler, user_id)

    return nullcontext(aio.Worker(registry(url, "aio", work), **options))


@contextmanager
def django(url: str, handler: Handler, options: dict[str, Any]) -> Iterator[Worker]:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.python.django.shop.settings")
    pytest.importorskip("django").setup()
    from django.test import override_settings

    from bullrush.django.framework import task_started
    from bullrush.django.workers import make_workers

    given = {"url": url, "worker_options": options}
    names = ["default", "mails", "django"]
    backend = {"BACKEND": "bullrush.django.BullrushBackend", "QUEUES": names, "OPTIONS": given}
    task_started.connect(handler)
    with override_settings(TASKS={"default": backend}):
        yield next(worker for worker in make_workers() if worker.name == "django")
    task_started.disconnect(handler)


KINDS = {"plain": plain, "cron": cron, "django": django, "aio": in_a_loop}


@contextmanager
def running(worker: Any, handler: Handler) -> Iterator[Callable[[], bool]]:
    """Run a worker, and return a function that tells whether it still runs."""
    is_aio = isinstance(worker, aio.Worker)
    thread = threading.Thread(target=(lambda: asyncio.run(worker.run())) if is_aio else worker.run)
    thread.start()
    try:
        yield thread.is_alive
    finally:
        handler.gate.set()
        closing = worker.close()
        if is_aio:
            asyncio.run(closing)
        thread.join()


@pytest.fixture(scope="module")
def refusing() -> Iterator[dict[str, RefusingServer]]:
    """Return a server that refuses for each kind of worker. All stand before the same Redis."""
    with EmbeddedRedis(port=0, password="") as redis, ExitStack() as opened:
        port = int(redis.url.rsplit(":", 1)[1].split("/")[0])
        yield {kind: opened.enter_context(RefusingServer(port)) for kind in KINDS}


@pytest.fixture(autouse=True)
def emptied(refusing: dict[str, RefusingServer]) -> Iterator[None]:
    """Leave nothing behind."""
    yield
    for server in refusing.values():
        server.refuse("", "", times=0)
    with Redis(port=refusing["plain"].redis_port) as client:
        client.flushall()


class Life:
    """The life of a worker, in which it meets a refusal at several moments."""

    def __init__(self, kind: str, code: str, followed: str, server: RefusingServer) -> None:
        self._kind, self._server, self._error = kind, server, f"{code} refused by a test"
        # An outcome that nobody keeps is lost, and its job runs again when its lock has expired.
        self._lost = followed == "nobody"
        soon = {"lock_duration": 400, "stalled_interval": 100, "max_stalled_count": 9} if self._lost else {}
        self._options = {"run_retry_delay": 50, **soon}
        self._handler = Handler()
        self._added = 0

    def live(self, *, busy_only: bool = False) -> None:
        if not busy_only:
            self._refuse(FIRST[self._kind])
        with (
            Queue(self._kind, url=f"redis://127.0.0.1:{self._server.redis_port}") as queue,
            KINDS[self._kind](self._server.url, self._handler, self._options) as worker,
            running(worker, self._handler) as self._runs,
        ):
            if not busy_only:
                self._add(queue)
                self._goes_on(queue)
                if self._kind in {"cron", "aio"}:
                    wait_until(lambda: queue.get_job_schedulers_count() == 1, "the scheduler is made")
                wait_until(lambda: self._waits(queue), "it waits for jobs")
                self._refuse({"move_to_active", "BZPOPMIN"})
                self._add(queue)
                self._goes_on(queue)
            self._handler.gate.clear()
            self._add(queue)
            wait_until(lambda: self._handler.runs == self._added, "the job runs")
            self._refuse({"move_to_finished"})
            self._handler.gate.set()
            self._goes_on(queue)
        assert self._handler.runs == self._added + self._lost, self._kind

    def _refuse(self, names: set[str]) -> None:
        self._server.refuse(names, self._error, times=1)

    def _add(self, queue: Queue) -> None:
        queue.add(TASK, {"user_id": 1})
        self._added += 1

    @staticmethod
    def _waits(queue: Queue) -> bool:
        return any("b" in client["flags"] for client in queue.get_workers())

    def _goes_on(self, queue: Queue) -> None:
        what = f"{self._kind}: job {self._added}"
        wait_until(lambda: queue.get_completed_count() == self._added, f"{what} is done")
        wait_until(lambda: self._server.left == 0, f"{what}: all was refused")
        assert self._runs(), what


@pytest.mark.parametrize(("refusal", "code"), CLASSES.items(), ids=CLASSES.values())
def test_each_kind_of_worker_goes_on_after_a_refusal(refusal, code, refusing, caplog):
    """At its start, while it waits, and when it has an outcome. All kinds at once: most of the time is pauses."""
    lives = [Life(kind, code, refusal[1], refusing[kind]) for kind in KINDS]
    with ThreadPoolExecutor(len(lives)) as pool:
        assert list(pool.map(lambda life: life.live(), lives)) == [None] * len(lives)
    assert f"{code} refused by a test" in caplog.text or refusal[1] == "every call"


@pytest.mark.parametrize(
    ("code", "kind", "followed"),
    [row for row in TABLE if row[0] not in CLASSES.values()],
    ids=[row[0] for row in TABLE if row[0] not in CLASSES.values()],
)
def test_a_worker_keeps_an_outcome_that_redis_may_take_later(code, kind, followed, refusing, caplog):
    """The other codes."""
    Life("plain", code, followed, refusing["plain"]).live(busy_only=True)
    assert f"{code} refused by a test" in caplog.text or followed == "every call"
