"""What `Worker.process_job` and `Job.move_to_failed` say about an attempt, and what they store of its failure."""

from collections.abc import Callable
from typing import Any

import pytest

from bullrush import Job, Queue, Worker, errors
from bullrush._core import now_ms


@pytest.fixture
def new_worker(redis_url: str, queue_name: str) -> Callable[..., Worker]:
    return lambda handler=None, **options: Worker(queue_name, handler, url=redis_url, **options)


def test_process_job_says_what_became_of_the_job(queue: Queue, new_worker: Callable, redis: Any) -> None:
    def handler(job: Job) -> None:
        if job.name == "later":
            job.move_to_delayed(job.data)
            raise errors.DelayedError
        if job.name == "taken":
            redis.set(queue.to_key(f"{job.id}:lock"), "another worker")
        raise ValueError("boom")

    due = now_ms() + 60_000
    queue.add("later", due)
    queue.add("taken")
    queue.add("again", attempts=2, backoff=60_000)
    queue.add("again", attempts=2)
    with new_worker(handler) as worker:
        results = []
        while (job := worker.get_next_job("t", block=False)) is not None and len(results) < 5:
            results.append(worker.process_job(job))
    assert [result.outcome for result in results] == ["moved", "lost", "retried", "retried", "failed"]
    reported = [result.next_run_at for result in results]
    assert reported[:2] == [None, None] and reported[4] is None
    assert due <= reported[2] <= now_ms() + 60_000
    assert reported[3] <= now_ms()


def test_long_texts_of_a_failure_are_cut_as_by_a_running_worker(queue: Queue, new_worker: Callable) -> None:
    def handler(job: Job) -> None:
        raise ValueError("x" * 5_000)

    jobs = queue.add_bulk([{"name": "n", "opts": {"attempts": 2}}, {"name": "n"}, {"name": "n"}])
    with new_worker(handler, max_error_size=200) as worker:
        first = worker.get_next_job("t1")
        first.move_to_failed(ValueError("y" * 5_000))
        last = worker.get_next_job("t2")
        last.move_to_failed(ValueError("y" * 5_000))
        worker.process_job(worker.get_next_job("t3"))
        assert len(first.failed_reason) <= 200 and "bytes left out" in first.failed_reason
    for job in jobs:
        stored = queue.get_job(job.id)
        assert stored is not None and len(stored.failed_reason) <= 200, stored.failed_reason
        assert "bytes left out" in stored.failed_reason and len(stored.stacktrace[0]) <= 200
