"""Listeners of a queue's events."""

import os
import signal
import threading
from collections.abc import Callable

import pytest
from redis import Redis

from bullrush import Event, Queue, Worker, errors
from tests.waiting import wait_until


def test_listeners_get_the_events_of_all_jobs_or_of_one(queue: Queue, worker: Callable, follow: Callable) -> None:
    events = follow()
    all_jobs, one_job, once = [], [], []
    ids = [job.id for job in queue.add_bulk([{"name": "n"}] * 3)]

    @events.on("completed")
    def note(event: Event) -> None:
        all_jobs.append(event.job_id)

    events.on(f"completed:{ids[1]}", lambda event: one_job.append((event.job_id, event.returnvalue)))
    events.once("active", lambda event: once.append(event.job_id))
    worker(lambda job: job.id).run(until="drained")
    wait_until(lambda: len(all_jobs) == 3)
    assert all_jobs == ids
    assert one_job == [(ids[1], ids[1])]
    assert once == [ids[0]]


def test_a_listener_that_raises_is_logged_and_the_events_go_on(
    queue: Queue, follow: Callable, caplog: pytest.LogCaptureFixture
) -> None:
    events = follow()
    heard: list[str] = []
    events.on("waiting", lambda event: 1 / 0)
    events.on("paused", lambda event: heard.append(event.event))
    queue.add("n")
    queue.pause()
    wait_until(lambda: heard)
    assert "A listener of 'waiting' failed" in caplog.text


def test_without_autorun_listeners_wait_for_run(queue: Queue, follow: Callable) -> None:
    events = follow(autorun=False)
    heard: list[str] = []
    events.on("added", lambda event: heard.append(event.event))
    queue.add("n")
    assert not events.is_running()
    running = threading.Thread(target=events.run)
    running.start()
    wait_until(lambda: heard == ["added"])
    with pytest.raises(RuntimeError, match=r"Queue Events is already running\."):
        events.run()
    events.close()
    running.join(10)
    assert not running.is_alive()


def test_a_listener_that_blocks_does_not_delay_waits_for_jobs(redis_url: str, queue: Queue, follow: Callable) -> None:
    """The wait polls every 5 s, which is longer than the timeout, so only an event can end it."""
    blocked, release = threading.Event(), threading.Event()
    events = follow()
    events.on("active", lambda event: (blocked.set(), release.wait(30)))
    try:
        with Worker(queue.name, lambda job: job.data, url=redis_url, autorun=True):
            queue.add("first", 1)
            assert blocked.wait(10)
            for number in range(20):
                assert queue.add("next", number).wait_until_finished(events, timeout=4_000) == number
    finally:
        release.set()


def test_a_stream_that_cannot_be_read_is_an_error_event(
    redis: Redis, queue: Queue, follow: Callable, caplog: pytest.LogCaptureFixture
) -> None:
    events = follow()
    reported: list[Exception] = []
    redis.set(queue.to_key("events"), "not a stream")
    events.on("error", reported.append)
    wait_until(lambda: reported)
    assert isinstance(reported[0], errors.RedisServerError)
    assert "WRONGTYPE" in caplog.text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_follows_on_a_connection_of_its_own(queue: Queue, follow: Callable) -> None:
    events = follow()
    events.on("resumed", lambda event: None)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(20)
            reported = threading.Event()
            events.once("paused", lambda event: reported.set())
            events.wait_until_ready()
            queue.pause()
            os.write(writing, b"heard" if reported.wait(10) else b"nothing")
        finally:
            os._exit(0)
    os.close(writing)
    assert os.read(reading, 100) == b"heard"
    os.close(reading)
    os.waitpid(child, 0)
