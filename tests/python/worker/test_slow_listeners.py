"""Listeners may be slow or never return: the worker keeps its deadlines and its memory limit, and loses no event."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from bullrush import Job, Queue, Worker, aio
from tests.waiting import wait_until

Make = Callable[..., Worker]
#: When this many outcomes wait for listeners, the worker takes no more jobs.
MANY = 10_000


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """An event that a listener waits for; set after the test at the latest."""
    gate = threading.Event()
    yield gate
    gate.set()


def fill(queue: Queue, count: int) -> None:
    queue.add_bulk([{"name": "n"}] * count)


def started(worker: Worker) -> threading.Thread:
    thread = threading.Thread(target=worker.run)
    thread.start()
    return thread


@pytest.mark.parametrize("how", [{"timeout": 200}, {"force": True}], ids=["timeout", "force"])
def test_closing_ends_at_its_deadline_although_a_listener_never_returns(
    queue: Queue, worker: Make, gate: threading.Event, how: dict
) -> None:
    busy = worker(lambda job: None)
    busy.on("completed", lambda job, result: gate.wait())
    fill(queue, 3)
    thread = started(busy)
    wait_until(lambda: queue.get_completed_count() == 3)
    busy.close(**how)
    assert not gate.is_set()
    gate.set()
    thread.join()


def test_events_not_delivered_at_the_deadline_are_counted(
    queue: Queue, worker: Make, caplog: pytest.LogCaptureFixture
) -> None:
    reported: list[str | None] = []

    def slow(job: Job, _result: object) -> None:
        reported.append(job.id)
        time.sleep(0.01)

    busy = worker(lambda job: None, concurrency=4)
    busy.on("completed", slow)
    fill(queue, 1000)
    thread = started(busy)
    wait_until(lambda: queue.get_completed_count() == 1000)
    with caplog.at_level(logging.WARNING, "bullrush"):
        busy.close(timeout=100)
        thread.join()
    assert len(reported) < 1000
    assert "jobs: the time to close was over" in caplog.text


def test_a_worker_takes_no_more_jobs_while_its_listeners_are_far_behind(
    queue: Queue, worker: Make, gate: threading.Event
) -> None:
    reported = []

    def behind(job: Job, _result: object) -> None:
        gate.wait()
        reported.append(job.id)

    count = MANY + 5000
    fill(queue, count)
    busy = worker(lambda job: None, concurrency=10)
    busy.on("completed", behind)
    thread = started(busy)
    wait_until(lambda: busy._run is not None and busy._run.core.stats()["undelivered"] >= MANY, seconds=60)
    wait_until(lambda: busy._run is not None and busy._run.core.stats()["in_hand"] == 0)
    assert queue.get_job_counts("wait")["wait"] > 0
    gate.set()
    wait_until(lambda: len(reported) == count, seconds=60)
    assert len(set(reported)) == count
    busy.close()
    thread.join()


def test_the_number_of_running_listener_coroutines_is_limited(queue: Queue, redis_url: str) -> None:
    async def main() -> None:
        go_on, most, reported = asyncio.Event(), 0, 0

        async def behind(_job: aio.Job, _result: object) -> None:
            nonlocal reported, most
            most = max(most, len(worker._listeners._tasks))
            await go_on.wait()
            reported += 1

        async def handler(_job: aio.Job) -> None: ...

        async with aio.Worker(queue.name, handler, url=redis_url, concurrency=100) as worker:
            worker.on("completed", behind)
            running = asyncio.create_task(worker.run(max_jobs=3000))
            while queue.get_completed_count() < 3000:
                await asyncio.sleep(0.02)
            go_on.set()
            await running
        assert reported == 3000
        assert most <= 1001

    fill(queue, 3000)
    asyncio.run(asyncio.wait_for(main(), 60))


def test_deadlines_of_finished_jobs_are_forgotten(queue: Queue, worker: Make) -> None:
    timed = worker(lambda job: None, timeout=60_000, concurrency=4)
    fill(queue, 5000)
    assert timed.run(until="drained").completed == 5000
    assert timed._run is not None and timed._run.core.stats()["deadlines"] <= 2100
