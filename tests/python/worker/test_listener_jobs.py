"""Listeners get the job as its handler left it and as Redis has it, and the error of that attempt."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import Job, Queue, Worker, aio, errors
from tests.waiting import wait_until

from . import process_handlers

Make = Callable[..., Worker]

#: Fields that a listener must see as Redis has them.
SEEN = (
    "data", "progress", "delay", "stacktrace", "attempts_made", "attempts_started", "failed_reason", "returnvalue",
    "finished_on",
)  # fmt: skip


def change(job: Job) -> str:
    job.update_data({"step": "done"})
    job.update_progress(70)
    if job.name != "good":
        raise ValueError("bad")
    return "result"


async def change_async(job: aio.Job) -> str:
    await job.update_data({"step": "done"})
    await job.update_progress(70)
    if job.name != "good":
        raise ValueError("bad")
    return "result"


def change_all(jobs: list[Job]) -> list[Any]:
    return [process_handlers.tried(change, job) for job in jobs]


async def change_all_async(jobs: list[aio.Job]) -> list[Any]:
    return await asyncio.gather(*map(change_async, jobs), return_exceptions=True)


KINDS: dict[str, dict[str, Any]] = {
    "threads": {"handler": change},
    "tasks": {"handler": change_async},
    "batches": {"batch_handler": change_all, "batch_size": 10},
    "batches of tasks": {"batch_handler": change_all_async, "batch_size": 10},
    "processes": {"handler": process_handlers.change, "isolation": "process"},
    "batches in processes": {"batch_handler": process_handlers.change_all, "batch_size": 10, "isolation": "process"},
}


def shown(job: Job) -> dict[str, Any]:
    return {name: getattr(job, name) for name in SEEN}


@pytest.mark.parametrize("kind", KINDS)
def test_outcomes_come_with_the_job_as_it_is_stored(kind: str, queue: Queue, worker: Make) -> None:
    reported: dict[str, tuple[dict[str, Any], object]] = {}
    w = worker(**KINDS[kind])
    for event in ("completed", "failed"):
        w.on(event, lambda job, what: reported.update({job.name: (shown(job), what)}))
    steps: list[object] = []
    w.on("progress", lambda job, progress: steps.append((job.name, job.data, job.progress, progress)))
    queue.add_bulk(
        [
            {"name": "good", "data": {"step": "start"}},
            {"name": "bad", "data": {"step": "start"}},
            {"name": "later", "data": {"step": "start"}, "opts": {"attempts": 2, "backoff": 3_600_000}},
        ]
    )
    w.run(until="drained")
    stored = {job.name: shown(job) for job in queue.get_jobs()}
    assert {name: seen for name, (seen, _) in reported.items()} == stored
    assert stored["later"]["delay"] == 3_600_000
    assert sorted(steps) == [(name, {"step": "done"}, 70, 70) for name in ("bad", "good", "later")]
    assert reported["good"][1] == "result"
    assert [repr(reported[name][1]) for name in ("bad", "later")] == ["ValueError('bad')"] * 2


@pytest.mark.parametrize("handler", [change, change_async])
@pytest.mark.parametrize("name", ["good", "bad", "later"])
def test_listeners_of_a_manual_worker_get_the_same(
    name: str, handler: Callable[..., Any], queue: Queue, worker: Make
) -> None:
    reported: list[dict[str, Any]] = []
    w = worker(handler)
    for event in ("completed", "failed"):
        w.on(event, lambda job, _: reported.append(shown(job)))
    added = queue.add(name, {"step": "start"}, **({"attempts": 2, "backoff": 3_600_000} if name == "later" else {}))
    job = w.get_next_job("token")
    assert job is not None
    w.process_job(job)
    stored = queue.get_job(added.id)
    assert stored is not None
    expected = shown(stored)
    for seen in (*reported, shown(job)):
        finished_on = seen.pop("finished_on")
        assert (finished_on is None) == (stored.finished_on is None)
        assert seen == {key: value for key, value in expected.items() if key != "finished_on"}
    assert len(reported) == 1


def test_listeners_of_an_asyncio_worker_get_the_same(redis_url: str, queue_name: str) -> None:
    async def main() -> None:
        reported: dict[str, dict[str, Any]] = {}
        async with (
            aio.Queue(queue_name, url=redis_url) as queue,
            aio.Worker(queue_name, change_async, url=redis_url) as worker,
        ):
            for event in ("completed", "failed"):
                worker.on(event, lambda job, _: reported.update({job.name: shown(job)}))
            await queue.add("good", {"step": "start"})
            await queue.add("bad", {"step": "start"})
            await worker.run(until="drained")
            assert reported == {job.name: shown(job) for job in await queue.get_jobs()}

    asyncio.run(main())


def test_listeners_get_the_error_object_that_this_attempt_raised(queue: Queue, worker: Make) -> None:
    raised: list[BaseException] = []
    reported: list[BaseException] = []

    def handler(job: Job) -> None:
        raised.append(ValueError(f"attempt {job.attempts_started}"))
        raise raised[-1]

    w = worker(handler)
    w.on("failed", lambda job, error: reported.append(error))
    queue.add("n", attempts=3)
    w.run(until="drained")
    assert len(reported) == 3
    assert all(one is other for one, other in zip(reported, raised, strict=True))


def test_the_error_of_an_attempt_that_lost_its_job_is_not_given_to_the_next_attempt(
    queue: Queue, worker: Make, redis: Redis
) -> None:
    reported: list[str] = []
    lost = threading.Event()

    def handler(job: Job) -> None:
        if job.attempts_started == 1:
            redis.delete(f"bull:{queue.name}:{job.id}:lock")
            wait_until(lambda: job.stalled_counter or redis.hget(f"bull:{queue.name}:{job.id}", "stc"))
            lost.set()
        raise RuntimeError(f"attempt {job.attempts_started}")

    w = worker(handler, lock_duration=2_000, stalled_interval=50)
    w.on("failed", lambda job, error: reported.append(str(error)))
    queue.add("n")
    w.run(until="drained")
    assert lost.is_set()
    assert reported == ["attempt 2"]


def test_listeners_get_a_timeout_error_for_a_job_that_timed_out(queue: Queue, worker: Make) -> None:
    reported: list[BaseException] = []
    w = worker(lambda job: wait_until(lambda: job.cancelled), timeout=50)
    w.on("failed", lambda job, error: reported.append(error))
    queue.add("n")
    w.run(until="drained")
    assert [repr(error) for error in reported] == ["TimeoutError('timed out after 50 ms')"]


def test_jobs_that_must_not_run_emit_active_and_failed(queue: Queue, worker: Make, redis: Redis) -> None:
    reported: list[tuple[str, ...]] = []
    w = worker(lambda job: reported.append(("ran", job.id)), max_started_attempts=1)
    w.on("active", lambda job: reported.append(("active", job.id)))
    w.on("failed", lambda job, error: reported.append(("failed", job.id, type(error).__name__, str(error))))
    often, deferred, gone = queue.add_bulk([{"name": "n"}] * 3)
    redis.hset(f"bull:{queue.name}:{often.id}", "ats", 5)
    redis.hset(f"bull:{queue.name}:{deferred.id}", "defa", "a child failed")
    redis.hdel(f"bull:{queue.name}:{gone.id}", "name")
    w.run(until="drained")
    missing = f"Missing key for job {gone.id}. The job was deleted or its hash is malformed"
    for job, reason in (
        (often, "job started more than allowable limit"),
        (deferred, "a child failed"),
        (gone, missing),
    ):
        of_job = [event for event in reported if event[1] == job.id]
        assert of_job == [("active", job.id), ("failed", job.id, "UnrecoverableError", reason)]


def test_a_job_that_cannot_complete_is_given_with_the_reason(queue: Queue, worker: Make) -> None:
    reported: list[BaseException] = []

    def handler(job: Job) -> None:
        queue.add("child", parent={"id": job.id, "queue": job.queue_qualified_name}, delay=3_600_000)

    w = worker(handler)
    w.on("failed", lambda job, error: reported.append(error))
    queue.add("parent")
    w.run(max_jobs=1)
    (error,) = reported
    assert isinstance(error, errors.PendingDependenciesError)


def test_jobs_that_must_not_run_emit_the_same_in_a_manual_worker(queue: Queue, worker: Make, redis: Redis) -> None:
    reported: list[tuple[str, ...]] = []
    w = worker(lambda job: reported.append(("ran", job.id)), max_started_attempts=1)
    w.on("active", lambda job: reported.append(("active", job.id)))
    w.on("failed", lambda job, error: reported.append(("failed", job.id, type(error).__name__)))
    often, deferred = queue.add_bulk([{"name": "n"}] * 2)
    redis.hset(f"bull:{queue.name}:{often.id}", "ats", 5)
    redis.hset(f"bull:{queue.name}:{deferred.id}", "defa", "a child failed")
    for _ in range(2):
        job = w.get_next_job("token")
        assert job is not None
        w.process_job(job)
    ends = [[("active", job.id), ("failed", job.id, "UnrecoverableError")] for job in (often, deferred)]
    assert reported == [*ends[0], *ends[1]]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_job_discarded_in_a_manual_worker_is_not_retried(asynchronous: bool, queue: Queue, worker: Make) -> None:
    def handler(job: Job) -> None:
        job.discard()
        raise ValueError

    async def handler_async(job: aio.Job) -> None:
        handler(job)

    w = worker(handler_async if asynchronous else handler)
    added = queue.add("n", attempts=3)
    job = w.get_next_job("token")
    assert job is not None
    w.process_job(job)
    assert added.get_state() == "failed"


def test_max_started_attempts_of_zero_is_no_limit_as_in_node(queue: Queue, worker: Make) -> None:
    queue.add("n")
    assert worker(lambda job: None, max_started_attempts=0).run(until="drained").completed == 1
