"""Jobs whose handler fails, and jobs that cannot run at all."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import Job, Queue, RateLimitError, UnrecoverableError, Worker, aio
from tests.watching import commands_about

Make = Callable[..., Worker]


def boom(job: Job) -> None:
    raise ValueError("boom")


def failed(queue: Queue) -> Job:
    (job,) = queue.get_failed()
    return job


def test_type_message_and_traceback_become_reason_and_stacktrace(queue: Queue, worker: Make) -> None:
    queue.add("n")
    worker(boom).run(until="drained")
    job = failed(queue)
    assert job.failed_reason == "boom"
    (trace,) = job.stacktrace
    lines = trace.splitlines()
    assert lines[:2] == ["ValueError: boom", "Traceback (most recent call last):"]
    assert "in boom" in lines[2]
    assert lines[-1] == "ValueError: boom"


def test_a_job_is_tried_as_often_as_attempts_says(queue: Queue, worker: Make) -> None:
    job = queue.add("n", attempts=3, stack_trace_limit=2)
    stats = worker(boom).run(until="drained")
    assert (stats.completed, stats.failed, stats.retried) == (0, 1, 2)
    read = failed(queue)
    assert (read.id, read.attempts_made, len(read.stacktrace)) == (job.id, 3, 2)


def test_a_backoff_delays_the_next_attempt(queue: Queue, worker: Make) -> None:
    runs = []

    def handler(job: Job) -> None:
        runs.append(job.processed_on)
        if len(runs) < 3:
            raise ValueError("again")

    queue.add("n", attempts=3, backoff={"type": "exponential", "delay": 50})
    worker(handler).run(until="drained")
    assert runs[1] - runs[0] >= 50
    assert runs[2] - runs[1] >= 100


@pytest.mark.parametrize("named", [UnrecoverableError, type("UnrecoverableError", (Exception,), {})])
def test_an_unrecoverable_error_fails_the_job_at_once(queue: Queue, worker: Make, named: type[Exception]) -> None:
    def handler(job: Job) -> None:
        raise named("give up")

    queue.add("n", attempts=5)
    assert worker(handler).run(until="drained").retried == 0
    assert failed(queue).failed_reason == "give up"


def test_a_discarded_job_is_not_retried(queue: Queue, worker: Make) -> None:
    def handler(job: Job) -> None:
        job.discard()
        raise ValueError

    queue.add("n", attempts=5)
    assert worker(handler).run(until="drained").retried == 0
    assert failed(queue).failed_reason == "ValueError"


@pytest.mark.parametrize("kind", ["def", "async def", "batch"])
def test_a_discarded_job_that_cannot_be_completed_is_not_retried(queue: Queue, worker: Make, kind: str) -> None:
    """Its new child is not done: Redis refuses its result."""

    def handler(job: Job) -> None:
        queue.add("child", parent={"id": job.id, "queue": queue.to_key("").rstrip(":")}, delay=60_000)
        job.discard()

    async def async_handler(job: aio.Job) -> None:
        handler(job)  # type: ignore[arg-type]

    queue.add("n", attempts=5)
    options: Any = {"batch_handler": lambda jobs: [handler(job) for job in jobs], "batch_size": 2}
    made = worker(**options) if kind == "batch" else worker(handler if kind == "def" else async_handler)
    assert made.run(until="drained", max_jobs=1).retried == 0
    assert failed(queue).failed_reason == "Job 1 has pending dependencies. moveToFinished"


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_result_that_is_not_json_fails_the_job_and_names_the_path(queue: Queue, worker: Make, kind: str) -> None:
    async def handler(job: aio.Job) -> object:
        return {"rows": [{1}]}

    queue.add("n")
    worker(handler if kind == "async def" else lambda job: {"rows": [{1}]}).run(until="drained")
    assert failed(queue).failed_reason == "returnvalue.rows[0]: set is not JSON serializable; use sorted(...)"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"data": "{oops"}, "Malformed job {id}: its data is not valid JSON"),
        ({"opts": "[1]"}, "Malformed job {id}: its opts are not an object"),
        ({"opts": "{"}, "Malformed job {id}: its opts is not valid JSON"),
    ],
)
def test_a_malformed_job_fails_for_good_and_the_worker_goes_on(
    queue: Queue, worker: Make, redis: Redis, fields: dict[str, str], reason: str
) -> None:
    bad, good = queue.add("bad", attempts=3), queue.add("good")
    redis.hset(f"bull:{queue.name}:{bad.id}", mapping=fields)
    runs = []
    stats = worker(lambda job: runs.append(job.name)).run(until="drained")
    assert (runs, stats.completed, stats.failed) == (["good"], 1, 1)
    assert (failed(queue).failed_reason or "").startswith(reason.format(id=bad.id))
    assert good.is_completed()


def test_fields_that_another_client_left_out_have_defaults(queue: Queue, worker: Make, redis: Redis) -> None:
    job = queue.add("n", {"a": 1})
    redis.hdel(f"bull:{queue.name}:{job.id}", "data", "opts")
    seen = []
    worker(lambda job: seen.append((job.data, job.opts))).run(until="drained")
    assert seen == [({}, {})]


def test_a_job_that_would_wait_for_a_failed_child_fails_for_good(queue: Queue, worker: Make) -> None:
    def handler(job: Job) -> None:
        if job.name == "child":
            raise ValueError("bad")
        parent = {"id": job.id, "queue": job.queue_qualified_name}
        child = queue.add("child", parent=parent, fail_parent_on_failure=True)
        while not child.is_failed():
            time.sleep(0.001)
        job.move_to_waiting_children()

    parent = queue.add("parent", attempts=3, backoff=60_000)
    worker(handler, concurrency=2).run(until="drained")
    assert parent.get_state() == "failed"
    read = queue.get_job(parent.id)
    assert read is not None
    assert "it has at least one failed child" in (read.failed_reason or "")


def test_rate_limit_error_gives_the_job_back_without_a_failure(queue: Queue, worker: Make) -> None:
    runs = []

    def handler(job: Job) -> None:
        runs.append(job.attempts_made)
        if len(runs) == 1:
            queue.rate_limit(100)
            raise RateLimitError

    queue.add("n")
    stats = worker(handler, limiter={"max": 100, "duration": 1000}).run(until="drained")
    assert (runs, stats.completed, stats.failed, stats.retried) == ([0, 0], 1, 0, 0)
    assert stats.seconds >= 0.1


def test_what_a_handler_raises_never_stops_the_worker(queue: Queue, worker: Make) -> None:
    class Nasty(BaseException):
        def __str__(self) -> str:
            raise RuntimeError

    nasty = [SystemExit("bye"), KeyboardInterrupt(), Nasty(), ValueError("\ud800"), GeneratorExit()]

    def handler(job: Job) -> None:
        raise nasty[job.data]

    queue.add_bulk([{"name": "n", "data": i} for i in range(len(nasty))])
    assert worker(handler).run(until="drained").failed == len(nasty)
    assert {job.failed_reason for job in queue.get_failed()} == {
        "bye", "KeyboardInterrupt", "<unprintable Nasty>", "\\ud800", "GeneratorExit",
    }  # fmt: skip


def test_max_started_attempts_and_max_stalled_count_fail_without_running(
    queue: Queue, worker: Make, redis: Redis
) -> None:
    job, stalled = queue.add("n"), queue.add("n")
    redis.hset(f"bull:{queue.name}:{job.id}", "ats", 5)
    redis.hset(f"bull:{queue.name}:{stalled.id}", "defa", "job stalled more than allowable limit")
    runs = []
    worker(runs.append, max_started_attempts=3).run(until="drained")
    assert runs == []
    assert {read.failed_reason for read in queue.get_failed()} == {
        "job started more than allowable limit", "job stalled more than allowable limit",
    }  # fmt: skip


@pytest.mark.parametrize("size", [None, 1000])
def test_the_middle_of_a_huge_error_is_left_out(queue: Queue, worker: Make, size: int | None) -> None:
    def handler(job: Job) -> None:
        raise ValueError("begin" + "x" * 300_000 + "end")

    job = queue.add("huge")
    options = {} if size is None else {"max_error_size": size}
    worker(handler, **options).run(until="empty")
    failed = queue.get_job(job.id)
    most = size or 65_536
    for text in (failed.failed_reason, *failed.stacktrace):
        assert most - 100 < len(text) <= most
        assert "bytes left out" in text
    assert failed.failed_reason.startswith("begin")
    assert failed.failed_reason.endswith("end")


def test_large_results_are_sent_to_redis_in_small_groups(queue: Queue, worker: Make, redis: Redis) -> None:
    """A call blocks all other clients of Redis, so it has at most about 1 MB of results."""
    queue.add_bulk([{"name": "n"}] * 40)
    with commands_about(queue.name, redis) as commands:
        worker(batch_handler=lambda jobs: ["r" * 400_000] * len(jobs), batch_size=40).run(until="empty")
        assert queue.get_completed_count() == 40
        assert commands().count("EVALSHA") >= 40 * 0.4


@pytest.mark.parametrize(
    ("attempts", "runs"), [("1.5", 2), ("2.5", 3), ('"3"', 3), ("[3]", 3), ("true", 1), ('"x"', 1), ("{}", 1)]
)
def test_attempts_that_other_clients_wrote_oddly_count_as_in_node(
    queue: Queue, worker: Callable[..., Worker], redis: Redis, attempts: str, runs: int
) -> None:
    def handler(_job: Job) -> None:
        raise ValueError

    job = queue.add("n")
    redis.hset(f"bull:{queue.name}:{job.id}", "opts", f'{{"attempts":{attempts}}}')
    stats = worker(handler).run(until="drained")
    assert (stats.retried, stats.failed) == (runs - 1, 1)
