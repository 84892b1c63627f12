"""Local events, and what a worker logs."""

import logging
from collections.abc import Callable

import pytest
from redis import Redis

from bullrush import Job, Queue, Worker, errors
from tests.waiting import wait_until

Make = Callable[..., Worker]


def test_every_step_of_a_job_emits_an_event(queue: Queue, worker: Make) -> None:
    def handler(job: Job) -> str:
        if job.attempts_made == 0:
            raise ValueError("first")
        job.update_progress(50)
        return "done"

    reported: list[tuple] = []
    w = worker(handler)
    w.on("active", lambda job: reported.append(("active", job.id)))
    w.on("progress", lambda job, progress: reported.append(("progress", job.progress, progress)))
    w.on("failed", lambda job, error: reported.append(("failed", job.failed_reason, repr(error), job.attempts_made)))
    w.on("completed", lambda job, result: reported.append(("completed", job.returnvalue, result, job.attempts_made)))
    w.on("drained", lambda: reported.append(("drained",)))
    w.on("closed", lambda: reported.append(("closed",)))
    # Without a backoff the job may be active again before "failed" is emitted: the two come from different threads.
    job = queue.add("n", attempts=2, backoff=200)
    w.run(until="drained")
    steps = [event for event in reported if event[0] != "drained"]
    assert steps == [
        ("active", job.id),
        ("failed", "first", "ValueError('first')", 1),
        ("active", job.id),
        ("progress", 50, 50),
        ("completed", "done", "done", 2),
        ("closed",),
    ]
    assert ("drained",) in reported


def test_a_once_listener_is_called_once_and_a_removed_one_never(queue: Queue, worker: Make) -> None:
    w = worker(lambda job: None)
    once, often, never = [], [], []

    @w.on("completed")
    def note(job: Job, result: object) -> None:
        often.append(job.id)

    w.once("completed", lambda job, result: once.append(job.id))
    w.on("completed", never.append)
    w.off("completed", never.append)
    queue.add_bulk([{"name": "n"}] * 3)
    w.run(until="drained")
    assert (len(once), len(often), never) == (1, 3, [])


def test_a_listener_that_raises_is_logged_and_the_others_are_called(
    queue: Queue, worker: Make, caplog: pytest.LogCaptureFixture
) -> None:
    w = worker(lambda job: None)
    seen = []
    w.on("completed", lambda job, result: 1 / 0)
    w.on("completed", lambda job, result: seen.append(job.id))
    queue.add("n")
    assert w.run(until="drained").completed == 1
    assert len(seen) == 1
    assert "A listener of 'completed' failed" in caplog.text


def test_an_event_that_does_not_exist_is_refused(worker: Make) -> None:
    with pytest.raises(errors.InvalidOptionError, match="Did you mean 'completed'"):
        worker(print).on("complete", print)


def test_a_listener_added_during_a_run_gets_the_jobs_that_end_later(queue: Queue, worker: Make) -> None:
    reported: list[str] = []

    def handler(job: Job) -> None:
        if job.name == "listen":
            w.on("completed", lambda job, result: reported.append(job.name))

    w = worker(handler, prefetch=0)
    queue.add_bulk([{"name": "before"}, {"name": "listen"}, {"name": "after"}])
    w.run(until="drained")
    assert reported[-1] == "after"
    assert "before" not in reported


def test_a_lost_lock_emits_an_event_and_cancels_the_job(
    queue: Queue, worker: Make, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    reported: list[BaseException] = []

    def handler(job: Job) -> None:
        redis.set(f"bull:{queue.name}:{job.id}:lock", "someone else")
        wait_until(lambda: job.cancelled)

    w = worker(handler, lock_duration=400)
    w.on("error", reported.append)
    job = queue.add("n")
    w.run(max_jobs=1)
    assert f"could not renew lock for job {job.id}" in [str(error) for error in reported]
    assert f"could not renew lock for job {job.id}" in caplog.text
    assert job.get_state() == "active"


def test_logs_and_events_never_show_payloads(queue: Queue, worker: Make, caplog: pytest.LogCaptureFixture) -> None:
    def handler(job: Job) -> str:
        if job.name == "bad":
            raise ValueError("the reason")
        return "secret result"

    with caplog.at_level(logging.DEBUG):
        queue.add_bulk([{"name": "n", "data": "secret data"}, {"name": "bad", "data": "secret data"}])
        worker(handler).run(until="drained")
    assert "secret" not in caplog.text


def test_a_worker_without_redis_logs_it_and_keeps_trying(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):  # all attempts after the first one are logged for debugging
        w = Worker("q", print, url="redis://:secret@127.0.0.1:1/0", autorun=True)
        wait_until(lambda: caplog.text.count("of 'q' at redis://:***@127.0.0.1:1/0>: ") >= 2)
        w.close(force=True)
    assert "secret" not in caplog.text
