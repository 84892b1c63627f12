"""What a worker logs: one line per event, with fields, and never the data of a job."""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest
import structlog

from bullrush import Job, Queue, Worker, aio
from bullrush.job.context import RUNNING
from bullrush.logs import JobFilter, add_job
from tests.waiting import wait_until

from . import process_handlers

Make = Callable[..., Worker]


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "bullrush")
    return caplog


def lines(log: pytest.LogCaptureFixture, level: int) -> list[logging.LogRecord]:
    return [record for record in log.records if record.levelno == level]


def boom(job: Job) -> None:
    raise ValueError("boom")


async def boom_async(job: aio.Job) -> None:
    raise ValueError("boom")


@pytest.mark.parametrize("handler", [boom, boom_async])
def test_a_failed_attempt_is_a_warning_and_the_last_one_an_error_with_its_traceback(
    handler: Any, queue: Queue, worker: Make, log: pytest.LogCaptureFixture
) -> None:
    job = queue.add("welcome", {"password": "planted"}, attempts=2)
    worker(handler).run(until="drained")
    (warning,), (error,) = lines(log, logging.WARNING), lines(log, logging.ERROR)
    start = f"Job {job.id} 'welcome' of queue {queue.name!r}: attempt"
    assert warning.getMessage().startswith(f"{start} 1 failed after ")
    assert "runs again at 20" in warning.getMessage()
    assert error.getMessage().startswith(f"{start} 2 failed for good after ")
    assert error.exc_info is not None
    assert error.exc_info[2] is not None
    assert error.exc_info[2].tb_frame.f_code.co_name == handler.__name__
    for record, attempt in [(warning, 1), (error, 2)]:
        fields = {name: getattr(record, name) for name in ("job_id", "job_name", "queue", "attempt")}
        assert fields == {"job_id": job.id, "job_name": "welcome", "queue": queue.name, "attempt": attempt}
        assert 0 <= record.__dict__["ms"] < 60_000
    assert "planted" not in log.text


def test_failures_without_an_exception_of_their_own_are_logged_with_their_text(
    queue: Queue, worker: Make, log: pytest.LogCaptureFixture
) -> None:
    queue.add("n", {"sleep": 60})
    worker(process_handlers.act, isolation="process", timeout=100).run(until="drained")
    (error,) = lines(log, logging.ERROR)
    assert "failed for good" in error.getMessage()
    assert "TimeoutError: timed out after 100 ms" in error.getMessage()


def test_a_start_and_a_close_are_logged_and_completed_jobs_are_not(
    queue: Queue, worker: Make, log: pytest.LogCaptureFixture
) -> None:
    queue.add_bulk([{"name": "n", "data": "planted"} for _ in range(5)])
    worker(lambda job: "planted", concurrency=3).run(until="drained")
    start, close = lines(log, logging.INFO)
    assert f"works on queue {queue.name!r} at 127.0.0.1:" in start.getMessage()
    assert "concurrency 3, bullrush 0." in start.getMessage()
    assert "5 completed, 0 failed, 0 retried" in close.getMessage()
    assert len(log.records) == 2
    assert "planted" not in log.text


@pytest.mark.parametrize(("jobs", "shown"), [(1, "1 unfinished job of"), (21, "21 unfinished jobs of")])
def test_a_worker_that_leaves_jobs_says_which(
    jobs: int, shown: str, queue: Queue, worker: Make, log: pytest.LogCaptureFixture
) -> None:
    begun, end = threading.Semaphore(0), threading.Event()

    def handle(job: Job) -> None:
        begun.release()
        end.wait(20)

    ids = {job.id for job in queue.add_bulk([{"name": "n", "data": "planted"}] * jobs)}
    slow = worker(handle, concurrency=jobs, autorun=True)
    for _ in ids:
        assert begun.acquire(timeout=20)
    slow.close(timeout=1)
    wait_until(lambda: "stopped working" in log.text)
    end.set()
    (warning,) = lines(log, logging.WARNING)
    assert shown in warning.getMessage()
    named = warning.__dict__["job_ids"]
    assert len(named) == min(20, jobs) and set(named) <= ids
    assert warning.getMessage().endswith(f": {', '.join(named)}" + (", ..." if jobs > 20 else ""))
    assert "planted" not in log.text


def test_a_password_is_not_logged(queue_name: str, redis_url: str, redis: Any, log: pytest.LogCaptureFixture) -> None:
    redis.execute_command("ACL", "SETUSER", "logged", "on", ">planted-secret", "~*", "&*", "+@all")
    try:
        url = redis_url.replace("redis://", "redis://logged:planted-secret@")
        with Worker(queue_name, boom, url=url) as worker:
            worker.run(until="empty")
    finally:
        redis.execute_command("ACL", "DELUSER", "logged")
    assert len(lines(log, logging.INFO)) == 2
    assert "planted" not in log.text


def test_a_server_that_deletes_keys_is_a_warning(
    queue: Queue, worker: Make, redis: Any, log: pytest.LogCaptureFixture
) -> None:
    redis.config_set("maxmemory-policy", "allkeys-lru")
    try:
        worker(boom, autorun=True)
        wait_until(lambda: "noeviction (it is allkeys-lru)" in log.text)
    finally:
        redis.config_set("maxmemory-policy", "noeviction")


def test_many_skipped_checks_for_stalled_jobs_are_one_warning(
    queue: Queue, worker: Make, redis: Any, log: pytest.LogCaptureFixture
) -> None:
    def skipped() -> list[logging.LogRecord]:
        return [one for one in lines(log, logging.WARNING) if "checks for stalled jobs" in one.getMessage()]

    slow = worker(lambda job: None, stalled_interval=1, autorun=True)
    wait_until(slow.is_running)
    for _ in range(2):
        redis.client_pause(200)
        redis.ping()
    wait_until(skipped)
    (warning,) = skipped()
    percent = int(warning.getMessage().partition(" of 100 checks")[0])
    assert 10 < percent <= 100
    assert warning.__dict__["queue"] == queue.name
    slow.close()
    assert len(skipped()) == 1


def test_a_log_without_errors_is_not_asked(queue: Queue, worker: Make, log: pytest.LogCaptureFixture) -> None:
    log.set_level(logging.CRITICAL, "bullrush.worker")
    queue.add("n", attempts=2)
    assert worker(boom).run(until="drained").failed == 1
    assert log.records == []


HANDLER_LOG = logging.getLogger("program")


def says(job: Job) -> None:
    HANDLER_LOG.warning("said")


async def says_async(job: aio.Job) -> None:
    await asyncio.sleep(0)
    HANDLER_LOG.warning("said")


@pytest.mark.parametrize("handlers", [{"a": says}, {"a": says_async}, {"a": says, "b": says_async}])
def test_log_records_of_handlers_have_the_job(
    handlers: Any, queue: Queue, worker: Make, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = {queue.add(name).id: name for name in [*handlers] * 3}
    caplog.handler.addFilter(job_filter := JobFilter())
    try:
        worker(handlers, concurrency=2).run(until="drained")
        HANDLER_LOG.warning("outside")
    finally:
        caplog.handler.removeFilter(job_filter)
    said = [record for record in caplog.records if record.name == "program"]
    assert {record.__dict__["job_id"]: record.__dict__["job_name"] for record in said[:-1]} == jobs
    assert {(record.__dict__["queue"], record.__dict__["attempt"]) for record in said[:-1]} == {(queue.name, 1)}
    assert said[-1].__dict__["job_id"] is None


def tells(job: Any) -> None:
    structlog.get_logger().info("inside", user=7)


async def tells_async(job: aio.Job) -> None:
    await asyncio.sleep(0)
    tells(job)


@pytest.mark.parametrize("handler", [tells, tells_async])
def test_lines_of_structlog_have_the_job(handler: Any, queue: Queue, worker: Make) -> None:
    written: list[dict[str, Any]] = []

    def keep(_logger: Any, _method: str, event: Any) -> Any:
        written.append(dict(event))
        raise structlog.DropEvent

    # As the page about logging configures it.
    structlog.configure(processors=[add_job, keep])
    try:
        structlog.get_logger().info("outside")
        job = queue.add("welcome", {"password": "planted"})
        worker(handler).run(until="drained")
    finally:
        structlog.reset_defaults()
    expected = {"job_id": job.id, "job_name": "welcome", "queue": queue.name, "attempt": 1}
    assert written == [{"event": "outside"}, {"event": "inside", "user": 7, **expected}]


def test_a_job_by_hand_runs_in_its_context_too(queue: Queue, worker: Make) -> None:
    job = queue.add("n")
    seen: list[Any] = []
    by_hand = worker(lambda job: seen.append(add_job(None, "info", {"event": "said", "queue": "own"})))
    by_hand.process_job(by_hand.get_next_job("token", block=False))
    assert seen == [{"event": "said", "queue": "own", "job_id": job.id, "job_name": "n", "attempt": 1}]
    assert RUNNING.get() is None


def nothing(_job: Job) -> None: ...


async def nothing_async(_job: aio.Job) -> None: ...


@pytest.mark.parametrize(
    ("handler", "slots", "warned"), [(nothing, 101, True), (nothing, 100, False), (nothing_async, 500, False)]
)
def test_more_than_100_slots_for_plain_functions_are_a_warning(
    handler: Any, slots: int, warned: bool, worker: Make, log: pytest.LogCaptureFixture
) -> None:
    worker(handler, concurrency=slots).run(until="empty")
    found = [one.getMessage() for one in lines(log, logging.WARNING)]
    assert [text.startswith(f"concurrency={slots}: ") for text in found] == [True] * warned
