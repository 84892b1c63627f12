"""Events of a worker's life: start, pause, errors and end, each emitted once and in time."""

import asyncio
import logging
import re
import threading
from collections.abc import Callable

import pytest

from bullrush import Job, Queue, Worker, aio, errors
from bullrush.worker.base import EVENTS
from tests.waiting import wait_until

Make = Callable[..., Worker]


def notes_of(worker: Worker | aio.Worker, *events: str) -> list[str]:
    reported: list[str] = []
    for event in events:
        worker.on(event, lambda *_, event=event: reported.append(event))
    return reported


def test_listeners_that_come_right_after_autorun_miss_nothing(queue: Queue, worker: Make) -> None:
    ended = threading.Semaphore(0)

    def handler(job: Job) -> None:
        job.update_progress(1)
        ended.release()

    queue.add_bulk([{"name": "n"}] * 20)
    w = worker(handler, autorun=True)
    for _ in range(20):
        assert ended.acquire(timeout=10)
    while queue.get_completed_count() < 20:
        pass
    reported = notes_of(w, "active", "progress", "completed")
    late = notes_of(w, "completed")
    w.close()
    assert sorted(reported) == ["active"] * 20 + ["completed"] * 20 + ["progress"] * 20
    assert late == ["completed"] * 20


def test_a_listener_for_one_event_gets_the_first_that_it_missed(queue: Queue, worker: Make) -> None:
    jobs = queue.add_bulk([{"name": "n"}] * 3)
    w = worker(lambda job: None, autorun=True)
    while queue.get_completed_count() < 3:
        pass
    reported: list[str] = []
    w.once("active", lambda job: reported.append(job.id))
    w.close()
    assert reported == [jobs[0].id]


def test_an_asyncio_worker_with_autorun_starts_at_the_first_await(redis_url: str, queue_name: str) -> None:
    async def main() -> None:
        async with aio.Queue(queue_name, url=redis_url) as queue:
            await queue.add_bulk([{"name": "n"}] * 10)
            async with aio.Worker(queue_name, lambda job: None, url=redis_url, autorun=True) as w:
                reported = notes_of(w, "active", "completed")
                while await queue.get_completed_count() < 10:
                    pass
        assert sorted(reported) == ["active"] * 10 + ["completed"] * 10

    asyncio.run(main())


def test_a_worker_without_listeners_does_not_keep_events(
    queue: Queue, worker: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bullrush.base.listeners._MAX_MISSED", 10)
    queue.add_bulk([{"name": "n"}] * 100)
    w = worker(lambda job: None, autorun=True)
    wait_until(lambda: not any(w._has_listeners(event) for event in EVENTS))
    wait_until(lambda: queue.get_completed_count() == 100)
    reported = notes_of(w, "completed")
    queue.add("n")
    wait_until(lambda: reported)
    assert reported == ["completed"]


def test_a_worker_drops_kept_events_if_no_listener_comes_in_time(
    queue: Queue, worker: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bullrush.base.listeners._EARLY_SECONDS", 0.05)
    queue.add("n")
    w = worker(lambda job: None, autorun=True)
    wait_until(lambda: queue.get_completed_count() == 1)
    wait_until(lambda: not any(w._has_listeners(event) for event in EVENTS))


def test_paused_and_resumed_are_emitted_only_if_something_changes(worker: Make) -> None:
    w = worker(lambda job: None, autorun=True)
    reported = notes_of(w, "paused", "resumed")
    w.resume()
    w.pause()
    w.pause()
    w.resume()
    w.resume()
    assert reported == ["paused", "resumed"]


def test_a_pause_that_waits_for_a_job_ends_when_the_worker_is_resumed(queue: Queue, worker: Make) -> None:
    started, go_on = threading.Event(), threading.Event()

    def handler(job: Job) -> None:
        started.set()
        assert go_on.wait(10)

    w = worker(handler, autorun=True)
    queue.add("n")
    assert started.wait(10)
    pausing = threading.Thread(target=w.pause)
    pausing.start()
    wait_until(w.is_paused)
    w.resume()
    pausing.join(10)
    assert not pausing.is_alive()
    assert w.is_running()
    go_on.set()
    wait_until(lambda: queue.get_completed_count() == 1)


def test_a_worker_that_is_paused_and_resumed_all_the_time_runs_all_jobs_without_an_error(
    queue: Queue, worker: Make
) -> None:
    errors: list[Exception] = []
    restless = worker(lambda job: None, concurrency=4, autorun=True)
    restless.on("error", errors.append)
    for _ in range(300):  # often enough for a pause to come in the moment in which the worker decides to fetch
        queue.add_bulk([{"name": "n"}] * 3)
        for _ in range(50):
            restless.pause()
            restless.resume()
    wait_until(lambda: queue.get_completed_count() == 900)
    assert errors == []


def test_a_paused_worker_runs_as_long_as_it_has_jobs(queue: Queue, worker: Make) -> None:
    started, go_on = threading.Event(), threading.Event()

    def handler(job: Job) -> None:
        started.set()
        go_on.wait(10)

    w = worker(handler, autorun=True)
    assert w.is_running()
    queue.add("n")
    assert started.wait(10)
    w.pause(do_not_wait_active=True)
    assert w.is_running()
    go_on.set()
    wait_until(lambda: not w.is_running())
    w.resume()
    assert w.is_running()
    w.close()
    assert not w.is_running()


def test_closed_is_emitted_before_close_returns(worker: Make) -> None:
    for _ in range(20):
        w = worker(lambda job: None, autorun=True)
        reported = notes_of(w, "closing", "closed")
        w.close()
        assert reported == ["closing", "closed"]


def test_closed_is_emitted_before_close_of_an_asyncio_worker_returns(redis_url: str, queue_name: str) -> None:
    async def handler(job: aio.Job) -> None: ...

    async def main() -> None:
        for _ in range(20):
            w = aio.Worker(queue_name, handler, url=redis_url, autorun=True)
            reported = notes_of(w, "closing", "closed")

            @w.on("closed")
            async def note(reported: list[str] = reported) -> None:
                reported.append("coroutine")

            await asyncio.sleep(0)
            await w.close()
            assert reported == ["closing", "closed", "coroutine"]

    asyncio.run(main())


def test_a_worker_that_never_ran_is_closed_like_any_other(worker: Make) -> None:
    w = worker(lambda job: None)
    reported = notes_of(w, "closing", "closed")
    w.close()
    w.close()
    assert reported == ["closing", "closed"]
    with pytest.raises(errors.ClosedError):
        w.run()


def test_connection_errors_reach_error_listeners() -> None:
    reported: list[BaseException] = []
    with Worker("q", print, url="redis://127.0.0.1:1/0", autorun=True) as w:
        w.on("error", reported.append)
        wait_until(lambda: reported)
        w.close(force=True)
    assert isinstance(reported[0], errors.ConnectionLostError)


def test_a_worker_without_a_name_shows_one_in_logs_only(queue: Queue, worker: Make) -> None:
    unnamed, named = worker(lambda job: job.processed_by), worker(print, name="w1")
    assert re.fullmatch(r".+-\d+-[0-9a-f]{6}", unnamed.worker_name)
    assert unnamed.worker_name in repr(unnamed)
    assert (named.worker_name, named.name) == ("w1", queue.name)
    job = queue.add("n")
    unnamed.run(until="drained")
    assert job.wait_until_finished(timeout=5_000) is None


def test_a_drain_delay_that_looks_like_seconds_is_logged_and_raised_to_100_ms(
    worker: Make, caplog: pytest.LogCaptureFixture
) -> None:
    assert worker(print, drain_delay=5)._settings.drain_delay == 100
    assert (
        "drain_delay=5 is in milliseconds; were seconds meant, as in BullMQ? Then write drain_delay=5000."
        in caplog.text
    )
    caplog.clear()
    worker(print, drain_delay=5_000)
    assert not caplog.text


def test_a_late_result_of_a_timed_out_job_is_not_logged(
    queue: Queue, worker: Make, caplog: pytest.LogCaptureFixture
) -> None:
    over = threading.Event()

    def handler(job: Job) -> None:
        wait_until(lambda: job.cancelled)
        over.wait(10)

    w = worker(handler, timeout=20)
    queue.add("n")
    with caplog.at_level(logging.WARNING):
        w.run(max_seconds=0.3)
        over.set()
        wait_until(lambda: not [one for one in threading.enumerate() if one.name.startswith(f"bullrush-{queue.name}")])
    assert "deadline" not in caplog.text


NEVER_RAN = "this worker never ran: call run(), or give autorun=True"


def test_a_worker_that_never_ran_says_so_when_it_is_closed(
    queue: Queue, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with aio.Worker(queue.name, print, url=redis_url):
            pass

    with Worker(queue.name, print, url=redis_url) as w:
        w.wait_until_ready()
    w.close()
    assert caplog.text.count(NEVER_RAN) == 1 and repr(w) in caplog.text
    asyncio.run(main())
    assert [record.levelname for record in caplog.records if NEVER_RAN in record.message] == ["WARNING"] * 2


def test_workers_that_ran_or_took_jobs_by_hand_or_have_no_handler_are_closed_without_a_warning(
    queue: Queue, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with aio.Worker(queue.name, print, url=redis_url, autorun=True):
            pass
        async with aio.Worker(queue.name, print, url=redis_url) as ran:
            await ran.run(until="empty")

    queue.add_bulk([{"name": "n"}] * 2)
    with Worker(queue.name, url=redis_url) as checker, Worker(queue.name, print, url=redis_url) as by_hand:
        checker.move_stalled_jobs_to_wait()
        assert by_hand.get_next_job("token") is not None
    with Worker(queue.name, url=redis_url) as taker, Worker(queue.name, print, url=redis_url) as processor:
        job = taker.get_next_job("token")
        assert job is not None and processor.process_job(job).outcome == "completed"
    with Worker(queue.name, print, url=redis_url, autorun=True):
        pass
    with Worker(queue.name, print, url=redis_url) as refused, pytest.raises(errors.InvalidOptionError):
        refused.run(until="later")  # type: ignore[arg-type]
    asyncio.run(main())
    assert NEVER_RAN not in caplog.text
