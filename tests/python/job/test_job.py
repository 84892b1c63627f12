"""The calls of a job."""

import time
from collections.abc import Callable

import pytest
from redis import Redis

from bullrush import Job, Queue, Worker, errors


def test_data_progress_and_logs_are_written_at_once(queue: Queue) -> None:
    job = queue.add("n", {"a": 1})
    job.update_data({"a": 2})
    job.update_progress(42)
    assert (job.data, job.progress) == ({"a": 2}, 42)
    assert job.log("one") == 1
    job.clear_logs()
    assert queue.get_job_logs(job.id)["count"] == 0
    read = queue.get_job(job.id)
    assert read is not None
    assert (read.data, read.progress) == ({"a": 2}, 42)


def test_progress_beyond_100_needs_to_be_asked_for(queue: Queue) -> None:
    job = queue.add("n")
    for wrong in (101, -0.5):
        with pytest.raises(errors.InvalidOptionError, match="progress must be between 0 and 100"):
            job.update_progress(wrong)
    with pytest.raises(errors.DataError):
        job.update_progress(float("nan"))
    job.update_progress(150, strict=False)
    job.update_progress({"page": 500})
    assert job.progress == {"page": 500}


def test_logs_keep_the_last_100_rows_or_what_the_job_says(queue: Queue) -> None:
    default, few, all_of_them = queue.add("n"), queue.add("n", keep_logs=2), queue.add("n", keep_logs=0)
    for job, kept in ((default, 100), (few, 2), (all_of_them, 105)):
        for row in range(105):
            job.log(f"{row}")
        assert queue.get_job_logs(job.id)["count"] == kept


def test_rows_that_a_queue_adds_are_kept_like_those_of_the_job(queue: Queue) -> None:
    default, few, all_of_them = queue.add("n"), queue.add("n", keep_logs=2), queue.add("n", keep_logs=0)
    for job, kept in ((default, 100), (few, 2), (all_of_them, 105)):
        for row in range(105):
            assert queue.add_job_log(job.id, f"{row}") == min(row + 1, kept)
        assert queue.get_job_logs(job.id)["logs"][-1] == "104"
    assert queue.add_job_log(few.id, "kept by the call", 5) == 3
    assert queue.add_job_log(default.id, "kept by the call", 0) == 101
    assert Job.add_job_log(queue, few.id, "one more") == 2
    with pytest.raises(errors.InvalidOptionError, match="keep_logs"):
        queue.add_job_log(few.id, "row", -1)


def test_delay_and_priority_can_change(queue: Queue) -> None:
    job = queue.add("n", delay=60_000)
    job.change_delay(120_000)
    job.change_priority(priority=5)
    assert (job.delay, job.priority, job.get_state()) == (120_000, 5, "delayed")
    job.promote()
    assert (job.delay, job.get_state()) == (0, "prioritized")
    with pytest.raises(errors.JobStateError) as refused:
        job.promote()
    assert refused.value.code == -3


def test_a_job_knows_its_state(queue: Queue) -> None:
    job = queue.add("n")
    assert job.is_waiting()
    assert not (
        job.is_active() or job.is_delayed() or job.is_completed() or job.is_failed() or job.is_waiting_children()
    )
    job.remove()
    assert job.get_state() == "unknown"


def test_a_job_is_read_again(queue: Queue, worker: Callable[..., Worker]) -> None:
    def handler(job: Job) -> int:
        if job.attempts_started == 1:
            raise ValueError("once more")
        other = queue.get_job(job.id)
        assert other is not None
        other.update_data({"a": 2})
        other.update_progress(42)
        token = job.token
        job.refresh()
        assert (job.data, job.progress, job.token) == ({"a": 2}, 42, token)
        assert (job.attempts_started, job.attempts_made) == (2, 1)
        return 7

    first, job = queue.add("n", attempts=2), queue.add("n", {"a": 1}, attempts=2)
    # It claims the second job ahead, and writes the start of its attempt to Redis later.
    worker(handler, prefetch=5).run(until="empty")
    assert (job.data, job.returnvalue, job.finished_on) == ({"a": 1}, None, None)
    job.refresh()
    assert (job.data, job.progress, job.returnvalue, job.attempts_made) == ({"a": 2}, 42, 7, 2)
    assert job.finished_on is not None
    other = queue.get_job(job.id)
    assert other is not None
    other.retry("completed")
    job.refresh()
    assert (job.returnvalue, job.finished_on, job.progress, first.progress) == (None, None, 42, 0)
    other.remove()
    with pytest.raises(errors.JobNotFoundError, match="Missing key for job"):
        job.refresh()
    assert job.data == {"a": 2}


def test_calls_on_a_job_that_does_not_exist_raise_job_not_found(queue: Queue) -> None:
    job = queue.add("n")
    job.remove()
    for call in (lambda: job.update_data(1), lambda: job.update_progress(1), lambda: job.log("x"), job.retry):
        with pytest.raises(errors.JobNotFoundError, match=f"Missing key for job {job.id}. "):
            call()


def test_a_running_job_cannot_be_removed(queue: Queue, worker: Callable[..., Worker]) -> None:
    seen: list[BaseException] = []

    def handler(job: Job) -> None:
        try:
            job.remove()
        except errors.BullrushError as error:
            seen.append(error)

    job = queue.add("n")
    worker(handler).run(until="drained")
    assert str(seen[0]) == f"Job {job.id} could not be removed because it is locked by another worker"


def test_retry_runs_a_finished_job_again(queue: Queue, worker: Callable[..., Worker]) -> None:
    job = queue.add("n")
    runs = []
    w = worker(lambda job: runs.append(job.attempts_made))
    w.run(until="drained")
    job.retry("completed")
    w.run(until="drained")
    assert runs == [0, 1]


def test_wait_until_finished_returns_the_result_or_raises_the_reason(
    queue: Queue, worker: Callable[..., Worker]
) -> None:
    def handler(job: Job) -> int:
        if job.name == "bad":
            raise ValueError("boom")
        return 42

    good, bad, never = queue.add("good"), queue.add("bad"), queue.add("never", delay=60_000)
    w = worker(handler, autorun=True)
    assert good.wait_until_finished(timeout=10_000) == 42
    with pytest.raises(errors.JobFailedError, match="^boom$"):
        bad.wait_until_finished()
    with pytest.raises(
        TimeoutError,
        match=rf"^Job wait never timed out before finishing, .* after 30ms \(id={never.id}\)\. Its state is delayed$",
    ):
        never.wait_until_finished(timeout=30)
    never.remove()
    with pytest.raises(errors.JobNotFoundError):
        never.wait_until_finished(timeout=1000)
    w.close()


def test_a_handler_moves_its_job_to_delayed_and_to_wait(queue: Queue, worker: Callable[..., Worker]) -> None:
    runs = []

    def handler(job: Job) -> str:
        runs.append(job.attempts_started)
        if len(runs) == 1:
            job.move_to_delayed(int(time.time() * 1000) + 50)
            raise errors.DelayedError
        if len(runs) == 2:
            job.move_to_wait()
            raise errors.WaitingError
        return "done"

    job = queue.add("n")
    stats = worker(handler).run(until="drained")
    assert runs == [1, 2, 3]
    assert (stats.completed, stats.failed, stats.retried) == (1, 0, 0)
    assert job.wait_until_finished() == "done"


def test_a_lock_can_be_extended_and_a_foreign_token_cannot(
    queue: Queue, worker: Callable[..., Worker], redis: Redis
) -> None:
    results = []

    def handler(job: Job) -> None:
        results.append(job.extend_lock(job.token, 90_000))
        results.append(redis.pttl(f"bull:{queue.name}:{job.id}:lock") > 60_000)
        results.append(job.extend_lock("other:1", 1000))

    queue.add("n")
    worker(handler).run(until="drained")
    assert results == [True, True, False]


def test_legacy_attempts_and_odd_fields_are_read(queue: Queue, redis: Redis) -> None:
    job = queue.add("n")
    redis.hset(
        f"bull:{queue.name}:{job.id}",
        mapping={"attemptsMade": "2", "atm": "1", "stacktrace": "oops", "delay": "1.5", "returnvalue": "{", "stc": "3"},
    )
    read = queue.get_job(job.id)
    assert read is not None
    assert (read.attempts_made, read.stacktrace, read.delay, read.returnvalue, read.stalled_counter) == (
        2,
        [],
        1,
        None,
        3,
    )


def test_refresh_reads_data_and_options_of_the_stored_job(queue):
    queue.add("x", {"n": 1}, job_id="a", attempts=7)
    again = queue.add("x", {"n": 2}, job_id="a", attempts=2)
    assert (again.data, again.opts["attempts"]) == ({"n": 2}, 2)
    again.refresh()
    assert (again.data, again.opts["attempts"]) == ({"n": 1}, 7)
