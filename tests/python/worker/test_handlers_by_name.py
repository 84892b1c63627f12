"""Workers with one handler per name of jobs: threads, event loops, both together, and processes."""

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest

from bullrush import Job, Queue, Worker, aio, errors
from bullrush.worker.routes import Route
from tests.waiting import wait_until

from . import process_handlers


def plain(job: Job) -> Any:
    return ["plain", job.data, threading.current_thread().name]


async def awaited(job: aio.Job) -> Any:
    await job.log("awaited")
    return ["awaited", job.data, threading.current_thread().name]


def with_token(job: Job, token: str) -> Any:
    return token == job.token


KINDS: dict[str, Mapping[str, Any]] = {
    "plain": {"a": plain, "b": with_token},
    "coroutine": {"a": awaited, "b": awaited},
    "mixed": {"a": plain, "b": awaited, "c": with_token},
}


def run(worker: Any) -> Any:
    if isinstance(worker, Worker):
        return worker.run(until="drained")

    async def main() -> Any:
        return await worker.run(until="drained")

    return asyncio.run(main())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [Worker, aio.Worker])
def test_each_job_runs_its_own_handler(make: Any, kind: str, queue: Queue, redis_url: str) -> None:
    handlers = KINDS[kind]
    jobs = [queue.add(name, n) for n, name in enumerate(sorted(handlers) * 5)]
    stats = run(make(queue.name, handlers, url=redis_url, concurrency=3))
    assert stats.completed == len(jobs)
    for n, job in enumerate(jobs):
        result = job.wait_until_finished(timeout=5_000)
        if handlers[job.name] is with_token:
            assert result is True
        else:
            assert result[:2] == [handlers[job.name].__name__, n]
            if handlers[job.name] is plain:
                assert result[2].startswith(f"bullrush-{queue.name}-")


def test_the_handler_of_a_name_may_be_a_name_to_import(queue: Queue, worker: Any) -> None:
    job = queue.add("cwd")
    worker({"cwd": "os:path.basename", "pid": lambda job: 1})
    worker({"cwd": "tests.python.worker.test_handlers_by_name:plain"}).run(until="drained")
    assert job.wait_until_finished(timeout=5_000)[0] == "plain"


@pytest.mark.parametrize("handlers", [{"a": plain}, {"a": awaited}, {"a": plain, "b": awaited}])
def test_a_job_without_a_handler_fails_and_the_error_names_the_handlers(
    handlers: Any, queue: Queue, worker: Any
) -> None:
    job = queue.add("welcom", attempts=5)
    stats = worker(handlers).run(until="drained")
    assert (stats.failed, stats.retried) == (1, 0)
    known = ", ".join(sorted(handlers))
    reason = f"No handler for jobs named 'welcom'. This worker has handlers for: {known}"
    assert queue.get_job(job.id).failed_reason == reason


@pytest.mark.parametrize("handlers", [{"a": plain}, {"a": awaited}, {"a": plain, "b": awaited}])
def test_a_job_without_a_handler_can_be_delayed_and_costs_no_attempt(
    handlers: Any, queue: Queue, worker: Any, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = [queue.add("later", {"secret": 7}) for _ in range(3)]
    with caplog.at_level(logging.WARNING, "bullrush"):
        stats = worker(handlers, unknown="delay").run(until="empty")
    assert (stats.completed, stats.failed, stats.retried) == (0, 0, 0)
    for job in jobs:
        stored = queue.get_job(job.id)
        assert (stored.get_state(), stored.attempts_made, stored.delay) == ("delayed", 0, 5_000)
    warnings = [record.getMessage() for record in caplog.records if "No handler" in record.getMessage()]
    assert len(warnings) == 1
    assert "'later'" in warnings[0]
    assert "secret" not in caplog.text


def test_each_delay_of_a_job_without_a_handler_is_a_start(queue: Queue, worker: Any) -> None:
    job = queue.add("later", attempts=5)
    for _ in range(2):
        worker({"a": plain}, unknown="delay", max_started_attempts=2).run(until="empty")
        assert queue.get_job(job.id).get_state() == "delayed"
        queue.get_job(job.id).promote()
    worker({"a": plain}, unknown="delay", max_started_attempts=2).run(until="empty")
    failed = queue.get_job(job.id)
    assert (failed.get_state(), failed.failed_reason) == ("failed", "job started more than allowable limit")


def test_a_job_without_a_handler_is_delayed_by_hand_too(queue: Queue, worker: Any) -> None:
    job = queue.add("later")
    by_hand = worker({"a": plain}, unknown="delay")
    by_hand.process_job(by_hand.get_next_job("token", block=False))
    assert (queue.get_job(job.id).get_state(), queue.get_job(job.id).attempts_made) == ("delayed", 0)


def test_process_job_runs_either_kind_of_handler(queue: Queue, worker: Any) -> None:
    jobs = [queue.add("a", 1), queue.add("b", 2)]
    by_hand = worker({"a": plain, "b": awaited})
    for _ in jobs:
        by_hand.process_job(by_hand.get_next_job("token", block=False))
    assert [job.wait_until_finished(timeout=5_000)[:2] for job in jobs] == [["plain", 1], ["awaited", 2]]


def test_handlers_by_name_run_in_processes(queue: Queue, worker: Any) -> None:
    handlers = {"square": process_handlers.square, "async": process_handlers.act_async}
    jobs = [queue.add("square", 3), queue.add("async", 4), queue.add("square", 5)]
    missing = queue.add("cube", 2)
    worker(handlers, isolation="process").run(until="drained")
    results = [job.wait_until_finished(timeout=5_000) for job in jobs]
    assert [result[0] for result in results] == [9, 4, 25]
    assert os.getpid() not in {result[1] for result in results}
    assert "square" in (queue.get_job(missing.id).failed_reason or "")


@pytest.mark.parametrize(
    ("handlers", "says"),
    [
        ({}, "at least one"),
        ({7: plain}, "a text"),
        ({"a": 7}, "'a' must be a function"),
        ({"a": "nowhere:f"}, "cannot be imported"),
        ({"a": lambda: None}, "take a job"),
    ],
)
def test_handlers_that_cannot_be_used_are_refused(handlers: Any, says: str) -> None:
    with pytest.raises(errors.InvalidOptionError, match=says):
        Worker("q", handlers)


def test_unknown_must_be_fail_or_delay() -> None:
    with pytest.raises(errors.InvalidOptionError, match="'fail' or 'delay'"):
        Worker("q", {"a": plain}, unknown="ignore")  # type: ignore[arg-type]


class Source:
    """A source of handlers that notes when it is entered and left, and where."""

    prefix = "bull"
    worker_options: Mapping[str, Any] = {}

    def __init__(self, queue: str, url: str, handlers: Mapping[str, Any], fails: bool = False) -> None:
        self.queue, self.url, self._handlers, self._fails = queue, url, handlers, fails
        self.noted: list[Any] = []

    def routes(self) -> Mapping[str, Route]:
        return {name: Route(self._noting(function)) for name, function in self._handlers.items()}

    def _noting(self, function: Any) -> Any:
        async def noting_async(job: aio.Job) -> Any:
            self.noted.append("job")
            return await function(job)

        def noting(job: Job) -> Any:
            self.noted.append("job")
            return function(job)

        return noting_async if asyncio.iscoroutinefunction(function) else noting

    @contextlib.contextmanager
    def running(self, worker: Any) -> Iterator[None]:
        self.noted.append("entered")
        if self._fails:
            raise LookupError("no pool")
        yield
        self.noted.append("left")

    @contextlib.asynccontextmanager
    async def arunning(self, worker: Any) -> AsyncIterator[None]:
        self.noted.append(asyncio.get_running_loop())
        if self._fails:
            raise LookupError("no pool")
        yield
        self.noted.append(asyncio.get_running_loop())


@pytest.mark.parametrize("make", [Worker, aio.Worker])
@pytest.mark.parametrize("kind", KINDS)
def test_a_source_is_entered_before_its_first_job_and_left_after_its_last_one(
    make: Any, kind: str, queue: Queue, redis_url: str
) -> None:
    handlers = {name: function for name, function in KINDS[kind].items() if function is not with_token}
    source = Source(queue.name, redis_url, handlers)
    for name in handlers:
        queue.add(name)
    assert run(make(source)).completed == len(handlers)
    entered, *jobs, left = source.noted
    assert jobs == ["job"] * len(handlers)
    if make is Worker and kind == "plain":
        assert (entered, left) == ("entered", "left")
    else:
        assert entered is left


@pytest.mark.parametrize("make", [Worker, aio.Worker])
@pytest.mark.parametrize("kind", KINDS)
def test_a_source_that_cannot_be_entered_ends_the_run_and_its_jobs_stay(
    make: Any, kind: str, queue: Queue, redis_url: str
) -> None:
    job = queue.add("a")
    with pytest.raises(LookupError, match="no pool"):
        run(make(Source(queue.name, redis_url, KINDS[kind], fails=True)))
    stored = queue.get_job(job.id)
    assert (stored.get_state(), stored.attempts_made) == ("waiting", 0)


def test_a_source_and_a_handler_together_are_refused(redis_url: str) -> None:
    with pytest.raises(errors.InvalidOptionError, match="has the handlers already"):
        Worker(Source("q", redis_url, {"a": plain}), plain)


def test_an_option_of_the_worker_wins_over_its_source(redis_url: str) -> None:
    with Worker(Source("q", "redis://127.0.0.1:1/0", {"a": plain}), url=redis_url, prefix="other") as worker:
        assert (worker.name, worker.prefix) == ("q", "other")
        assert redis_url.split("/")[2] in repr(worker)


def test_plain_and_coroutine_functions_share_the_slots(queue: Queue, redis_url: str) -> None:
    running, most, lock = 0, 0, threading.Lock()

    @contextlib.contextmanager
    def counted() -> Iterator[None]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        yield
        with lock:
            running -= 1

    gate = threading.Event()

    def block(job: Job) -> None:
        with counted():
            gate.wait()

    async def wait(job: aio.Job) -> None:
        with counted():
            while not gate.is_set():
                await asyncio.sleep(0.001)

    queue.add_bulk([{"name": name} for name in ["block", "wait"] * 4])
    with Worker(queue.name, {"block": block, "wait": wait}, url=redis_url, concurrency=4, autorun=True) as worker:
        wait_until(lambda: running == 4)
        worker.concurrency = 6
        wait_until(lambda: running == 6)
        gate.set()
        wait_until(lambda: queue.get_completed_count() == 8)
    assert most == 6
