"""Ids are per queue: a worker of several queues names a job in its log by its queue, too."""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import Job, Queue, aio
from tests.waiting import wait_until


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "bullrush")
    return caplog


def said(log: pytest.LogCaptureFixture, text: str) -> list[logging.LogRecord]:
    return [record for record in log.records if text in record.getMessage()]


def fields(records: list[logging.LogRecord], *names: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(record.__dict__[name] for name in names) for record in records)


class Held:
    """Handlers that run until the test lets them end."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.end = threading.Event()

    def plain(self, job: Job) -> None:
        self.begun.release()
        self.end.wait(20)

    async def coroutine(self, job: aio.Job) -> None:
        self.begun.release()
        while not self.end.is_set():
            await asyncio.sleep(0.01)

    def wait_for(self, count: int) -> None:
        for _ in range(count):
            assert self.begun.acquire(timeout=20)


@pytest.mark.parametrize(
    "handler_of", [lambda held: held.plain, lambda held: held.coroutine,
                   lambda held: {"n": held.plain, "other": held.coroutine}],
)  # fmt: skip
def test_jobs_that_are_left_are_named_by_their_own_queues(
    handler_of: Callable[[Held], Any], queues: Any, serve: Any, log: pytest.LogCaptureFixture
) -> None:
    first, second = made = queues(2)
    first.add_bulk([{"name": "n"}] * 2)
    second.add("n")
    held = Held()
    worker = serve(handler_of(held), made, concurrency=3)
    held.wait_for(3)
    worker.close(timeout=1)
    wait_until(lambda: said(log, "stopped working"))
    held.end.set()
    left = said(log, "unfinished")
    assert fields(left, "queue") == [(first.name,), (second.name,)]
    assert {record.__dict__["queue"]: sorted(record.__dict__["job_ids"]) for record in left} == {
        first.name: ["1", "2"],
        second.name: ["1"],
    }
    for record in left:
        assert f"of queue {record.__dict__['queue']!r}, which" in record.getMessage()
    both = f"{first.name}, {second.name}"
    assert fields(said(log, "works on queue") + said(log, "stopped working"), "queue") == [(both,)] * 2


def test_a_result_that_comes_too_late_is_named_by_its_queue(
    queues: Any, serve: Any, log: pytest.LogCaptureFixture
) -> None:
    made = queues(2)
    for queue in made:
        queue.add("n")
    held = Held()
    worker = serve(held.plain, made, concurrency=2)
    held.wait_for(2)
    worker.close(timeout=1)
    held.end.set()
    wait_until(lambda: len(said(log, "after the worker's deadline")) == 2)
    late = said(log, "after the worker's deadline")
    assert fields(late, "queue", "job_id") == [(queue.name, "1") for queue in made]
    assert min(record.getMessage() for record in late).startswith(f"Job 1 of queue {made[0].name!r} ended after")


@pytest.mark.parametrize("handler", ["plain", "coroutine"])
def test_a_lost_lock_is_named_by_its_queue(
    handler: str, queues: Any, serve: Any, redis: Redis, log: pytest.LogCaptureFixture
) -> None:
    lost, kept = made = queues(2)
    for queue in made:
        queue.add("n")
    held, errors = Held(), list[str]()
    worker = serve(getattr(held, handler), made, concurrency=2, lock_renew_time=400, skip_stalled_check=True)
    worker.on("error", lambda error: errors.append(str(error)))
    held.wait_for(2)
    redis.set(lost.to_key("1:lock"), "somebody else's")
    text = f"could not renew lock for job 1 of queue {lost.name!r}"
    wait_until(lambda: text in errors)
    held.end.set()
    assert fields(said(log, text), "queue", "job_id") == [(lost.name, "1")]
    wait_until(lambda: kept.get_job("1").finished_on)


def stall(queue: Queue, redis: Redis) -> None:
    job = queue.add("n")
    redis.lrem(queue.to_key("wait"), 1, job.id)
    redis.lpush(queue.to_key("active"), job.id)
    redis.hset(queue.to_key(job.id), mapping={"processedOn": 1, "ats": 1})


def test_a_stalled_job_is_named_by_its_queue(
    queues: Any, serve: Any, redis: Redis, log: pytest.LogCaptureFixture
) -> None:
    made = queues(2)
    for queue in made:
        stall(queue, redis)
    serve(lambda job: None, made, start=False, stalled_interval=100).run(until="drained")
    shown = sorted(record.getMessage().partition(":")[0] for record in said(log, "had stalled"))
    assert shown == [f"Job 1 of queue {queue.name!r} had stalled" for queue in made]


def test_a_worker_of_one_queue_names_its_jobs_by_their_ids(
    queues: Any, redis: Redis, redis_url: str, log: pytest.LogCaptureFixture
) -> None:
    from bullrush import Worker

    (queue,) = queues(1)
    stall(queue, redis)
    held = Held()
    with Worker(queue.name, held.plain, url=redis_url, stalled_interval=100, lock_renew_time=400) as worker:
        thread = threading.Thread(target=worker.run)
        thread.start()
        held.wait_for(1)
        redis.set(queue.to_key("1:lock"), "somebody else's")
        wait_until(lambda: said(log, "could not renew"))
        worker.close(force=True)
        held.end.set()
        thread.join()
    assert [record.getMessage().partition(":")[0] for record in said(log, "job 1") + said(log, "Job 1 had")] == [
        "could not renew lock for job 1",
        "Job 1 had stalled",
    ]
