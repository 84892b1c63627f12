"""A worker finishes its jobs and ends, whatever its handlers and listeners raise."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from bullrush import AttemptResult, Job, Queue, Worker, aio
from bullrush.job.failure import INDESCRIBABLE

from . import broken_handlers as broken

Make = Callable[..., Worker]
KINDS = {
    "thread": {"handler": broken.plain},
    "loop": {"handler": broken.coroutine},
    "batch": {"batch_handler": broken.batch, "batch_size": 3},
    "batch_that_breaks": {"batch_handler": broken.broken_batch, "batch_size": 3},
    "loop_batch": {"batch_handler": broken.coroutine_of_a_batch, "batch_size": 3},
    "loop_batch_that_breaks": {"batch_handler": broken.coroutine_batch, "batch_size": 3},
    "process": {"handler": broken.plain, "isolation": "process"},
}


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let the start of threads with this name fail."""
    start = threading.Thread.start

    def refuse(name: str) -> None:
        def start_unless(thread: threading.Thread) -> None:
            if name in thread.name:
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", start_unless)

    return refuse


@pytest.mark.parametrize("kind", KINDS)
def test_an_exception_that_cannot_be_read_fails_its_attempt_and_nothing_else(
    queue: Queue, worker: Make, kind: str
) -> None:
    count = len(broken.errors())
    queue.add_bulk([{"name": "n", "data": n} for n in range(count)])
    stats = worker(**KINDS[kind]).run(until="drained", max_seconds=20)
    assert (stats.completed, stats.failed, stats.retried) == (0, count, 0)
    assert all(job.failed_reason for job in queue.get_failed())


def test_an_exception_that_cannot_be_read_has_a_constant_text_and_is_retried(queue: Queue, worker: Make) -> None:
    job = queue.add("n", [type(error) for error in broken.errors()].index(broken.Untraceable), attempts=2)
    stats = worker(broken.plain).run(until="drained")
    assert (stats.failed, stats.retried) == (1, 1)
    failed = queue.get_job(job.id)
    assert failed is not None and failed.failed_reason == INDESCRIBABLE


def test_an_exception_with_a_broken_getattr_keeps_its_text_and_traceback(queue: Queue, worker: Make) -> None:
    job = queue.add("n", 0)
    worker(broken.plain).run(until="drained")
    failed = queue.get_job(job.id)
    assert failed is not None and failed.failed_reason == "no"
    assert "broken_handlers.py" in failed.stacktrace[0]
    assert failed.stacktrace[0].splitlines()[0].endswith("LooksAttributesUp: no")


@pytest.mark.parametrize("number", range(len(broken.errors())))
def test_a_manual_worker_fails_the_job_as_well(queue: Queue, worker: Make, number: int) -> None:
    job = queue.add("n", number)
    by_hand = worker(broken.plain)
    taken = by_hand.get_next_job("token")
    assert taken is not None and by_hand.process_job(taken, "token") == AttemptResult("failed")
    assert job.get_state() == "failed"


@pytest.mark.parametrize("outcome", ["completed", "failed"])
@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt])
def test_a_listener_that_ends_the_program_ends_the_run(
    queue: Queue, worker: Make, outcome: str, end: type[BaseException]
) -> None:
    def handler(job: Job) -> None:
        worked.append(job.id)
        if outcome == "failed":
            raise ValueError

    def leave(*_arguments: object) -> None:
        raise end("listener")

    worked: list[str] = []
    first = queue.add("n")
    ending = worker(handler)
    ending.on(outcome, leave)
    with pytest.raises(end, match="listener"):
        ending.run()
    assert not ending.is_running() and ending._run is not None and ending._run.core.stats()["in_hand"] == 0
    later = queue.add("n")
    ending.close()
    assert worked == [first.id] and later.get_state() == "waiting"


@pytest.mark.parametrize("event", ["active", "progress"])
@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("kind", ["thread", "loop", "batch"])
def test_a_listener_beside_a_handler_that_ends_the_program_fails_no_job(
    queue: Queue, worker: Make, event: str, end: type[BaseException], kind: str
) -> None:
    def leave(*_arguments: object) -> None:
        raise end("listener")

    def plain(job: Job) -> None:
        job.update_progress(1)

    async def coroutine(job: aio.Job) -> None:
        await job.update_progress(1)

    def batch(jobs: list[Job]) -> list[None]:
        return [plain(job) for job in jobs]

    jobs = queue.add_bulk([{"name": "n"}] * 4)
    ending = (
        worker(batch_handler=batch, batch_size=2)
        if kind == "batch"
        else worker({"thread": plain, "loop": coroutine}[kind])
    )
    ending.on(event, leave)
    with pytest.raises(end, match="listener"):
        ending.run()
    ending.close()
    states = [job.get_state() for job in jobs]
    assert set(states) <= {"waiting", "completed"} and "waiting" in states
    assert worker(plain).run(until="drained").failed == 0


@pytest.mark.parametrize("handler", [broken.plain, broken.coroutine], ids=["thread", "loop"])
def test_if_no_thread_can_start_run_raises_and_claimed_jobs_go_back(
    queue: Queue, worker: Make, no_threads: Callable, handler: Any
) -> None:
    jobs = queue.add_bulk([{"name": "n"}] * 10)
    threadless = worker(handler)
    no_threads("bullrush")
    with pytest.raises(RuntimeError, match="can't start new thread"):
        threadless.run(until="drained")
    threadless.close()
    assert not threadless.is_running()
    assert [job.get_state() for job in jobs] == ["waiting"] * 10


def test_if_one_thread_cannot_start_the_run_ends_after_the_jobs_of_the_others(
    queue: Queue, worker: Make, no_threads: Callable
) -> None:
    queue.add_bulk([{"name": "n"}] * 10)
    short = worker(lambda job: None, concurrency=4)
    no_threads(f"{queue.name}-3")
    with pytest.raises(RuntimeError, match="can't start new thread"):
        short.run(until="drained")
    assert queue.get_job_counts("active", "failed") == {"active": 0, "failed": 0}


def test_more_slots_than_threads_can_be_had_are_refused(queue: Queue, worker: Make, no_threads: Callable) -> None:
    small = worker(lambda job: None, autorun=True)
    no_threads(f"{queue.name}-2")
    with pytest.raises(RuntimeError, match="can't start new thread"):
        small.concurrency = 3
    job = queue.add("n", 1)
    job.wait_until_finished(timeout=10_000)
    small.close()


@pytest.mark.parametrize("name", ["bullrush-run", "bullrush"])
def test_if_no_thread_can_start_a_run_with_asyncio_raises(
    queue: Queue, no_threads: Callable, name: str, redis_url: str
) -> None:
    async def main() -> None:
        async with aio.Worker(queue.name, broken.plain, url=redis_url) as worker:
            with pytest.raises(RuntimeError, match="can't start new thread"):
                await worker.run(until="drained")
            assert not worker.is_running()

    job = queue.add("n")
    no_threads(name)
    asyncio.run(asyncio.wait_for(main(), 20))
    assert job.get_state() == "waiting"


def test_a_listener_that_ends_the_program_at_closing_does_not_keep_the_worker_open(queue: Queue, worker: Make) -> None:
    def leave() -> None:
        raise SystemExit

    busy = worker(lambda job: None)
    busy.on("closing", leave)
    thread = threading.Thread(target=busy.run)
    thread.start()
    queue.add("n").wait_until_finished(timeout=20_000)
    with pytest.raises(SystemExit):
        busy.close()
    thread.join(20)
    assert not busy.is_running()
