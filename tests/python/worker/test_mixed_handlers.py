"""A worker with plain and coroutine functions: deadlines per job, cancellation, closing and forks as with one kind."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from bullrush import Job, Queue, Worker, aio
from bullrush.worker.routes import Route
from tests.waiting import wait_until


class Blocking:
    """A plain and a coroutine handler that run until they are released or stopped."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.started: list[str] = []
        self.ended: list[str] = []

    def plain(self, job: Job) -> str:
        self.started.append(job.name)
        while not self.gate.wait(0.002) and not job.cancelled:
            pass
        self.ended.append("cancelled" if job.cancelled else "released")
        job.check_cancelled()
        return "plain"

    async def coroutine(self, job: aio.Job) -> str:
        self.started.append(job.name)
        while not self.gate.is_set():
            await asyncio.sleep(0.002)
        return "coroutine"

    @property
    def handlers(self) -> dict[str, Any]:
        return {"plain": self.plain, "coroutine": self.coroutine}


@pytest.fixture
def blocking() -> Iterator[Blocking]:
    blocking = Blocking()
    yield blocking
    blocking.gate.set()


class Timed:
    """Handlers with time-outs of their own."""

    prefix, url = "bull", None
    worker_options: Mapping[str, Any] = {}

    def __init__(self, queue: str, **routes: Route) -> None:
        self.queue, self._routes = queue, routes

    def routes(self) -> dict[str, Route]:
        return self._routes

    def running(self, worker: Any) -> Any:
        return contextlib.nullcontext()

    arunning = running


def test_each_job_has_the_deadline_of_its_name(queue: Queue, redis_url: str, blocking: Blocking) -> None:
    source = Timed(
        queue.name,
        slow=Route(blocking.plain, timeout=60_000),
        quick=Route(blocking.plain, timeout=80),
        brief=Route(blocking.coroutine, timeout=40),
        default=Route(blocking.coroutine),
    )
    jobs = {name: queue.add(name) for name in ("slow", "quick", "brief", "default")}
    with Worker(source, url=redis_url, concurrency=4, timeout=120, autorun=True):  # type: ignore[arg-type]
        wait_until(lambda: queue.get_failed_count() == 3)
        assert queue.get_active_count() == 1
        blocking.gate.set()
        assert jobs["slow"].wait_until_finished(timeout=5_000) == "plain"
    reasons = {name: queue.get_job(job.id).failed_reason for name, job in jobs.items()}  # type: ignore[union-attr]
    assert reasons == {
        "slow": None,
        "quick": "timed out after 80 ms",
        "brief": "timed out after 40 ms",
        "default": "timed out after 120 ms",
    }


@pytest.mark.parametrize("name", ["plain", "coroutine"])
def test_either_kind_of_job_can_be_cancelled(name: str, queue: Queue, redis_url: str, blocking: Blocking) -> None:
    job, other = queue.add(name), queue.add("plain" if name == "coroutine" else "coroutine")
    with Worker(queue.name, blocking.handlers, url=redis_url, concurrency=2, autorun=True) as worker:
        wait_until(lambda: len(blocking.started) == 2)
        assert worker.cancel_job(job.id, "enough")
        wait_until(lambda: job.is_failed())
        assert other.is_active()
        blocking.gate.set()
        other.wait_until_finished(timeout=5_000)
    assert queue.get_job(job.id).failed_reason == "enough"  # type: ignore[union-attr]


def test_a_deadline_to_close_ends_the_run_while_a_plain_function_continues(
    queue: Queue, redis_url: str, blocking: Blocking
) -> None:
    queue.add("plain")
    queue.add("coroutine")
    worker = Worker(queue.name, blocking.handlers, url=redis_url, concurrency=2)
    running = threading.Thread(target=worker.run)
    running.start()
    wait_until(lambda: len(blocking.started) == 2)
    worker.close(timeout=100)
    running.join(20)
    assert not running.is_alive()
    wait_until(lambda: blocking.ended == ["cancelled"])  # its lease is lost
    wait_until(lambda: not [thread for thread in threading.enumerate() if queue.name in thread.name])


def test_a_plain_function_finishes_when_its_loop_ends_before_it(
    queue: Queue, redis_url: str, blocking: Blocking
) -> None:
    plain, coroutine = queue.add("plain"), queue.add("coroutine")

    async def main() -> None:
        worker = aio.Worker(queue.name, blocking.handlers, url=redis_url, concurrency=2)
        running = asyncio.ensure_future(worker.run(signals=False))
        while len(blocking.started) < 2:
            await asyncio.sleep(0.002)
        assert not running.done()
        threading.Timer(0.05, blocking.gate.set).start()
        # The program ends here: its loop cancels all tasks.

    asyncio.run(main())
    assert plain.wait_until_finished(timeout=10_000) == "plain"
    wait_until(lambda: coroutine.get_state() in {"waiting", "completed"})
    wait_until(lambda: not [thread for thread in threading.enumerate() if queue.name in thread.name])


def test_a_graceful_close_waits_for_both_kinds(queue: Queue, redis_url: str, blocking: Blocking) -> None:
    jobs = [queue.add("plain"), queue.add("coroutine")]
    worker = Worker(queue.name, blocking.handlers, url=redis_url, concurrency=2, autorun=True)
    wait_until(lambda: len(blocking.started) == 2)
    threading.Timer(0.05, blocking.gate.set).start()
    worker.close()
    assert [job.get_state() for job in jobs] == ["completed", "completed"]


def test_a_fork_in_a_plain_function_ends_without_a_result(queue: Queue, redis_url: str) -> None:
    def forks(job: Job) -> str:
        if (child := os.fork()) == 0:
            return "child"
        return f"parent, child ended with {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}"

    async def beside(job: aio.Job) -> str:
        return "beside"

    job, other = queue.add("forks"), queue.add("beside")
    with Worker(queue.name, {"forks": forks, "beside": beside}, url=redis_url, concurrency=2) as worker:
        worker.run(until="drained", max_seconds=20)
    assert job.wait_until_finished(timeout=5_000).startswith("parent")
    assert other.wait_until_finished(timeout=5_000) == "beside"
