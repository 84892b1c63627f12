"""Reading the events of a queue in a loop: which events come, their fields, and how a loop ends."""

import threading
import time
from collections.abc import Callable

import pytest
from redis import Redis

from bullrush import Event, Queue, QueueEvents, errors
from tests.waiting import wait_until
from tests.watching import commands_about


def events_until(events: QueueEvents, name: str) -> list[Event]:
    """Return the events up to the first of a name."""
    heard = []
    for event in events:
        heard.append(event)
        if event.event == name:
            break
    return heard


def test_a_loop_gets_every_event_from_the_moment_the_object_was_made(queue: Queue, follow: Callable) -> None:
    queue.add("before")
    events = follow()
    job = queue.add("n")
    job.update_progress({"step": 1})
    job.remove()
    heard = events_until(events, "removed")
    assert [(event.event, event.job_id) for event in heard] == [
        ("added", job.id),
        ("waiting", job.id),
        ("progress", job.id),
        ("removed", job.id),
    ]
    assert heard[0].name == "n"
    assert heard[2].data == {"step": 1}
    assert heard[3].prev == "wait"


def test_results_and_numbers_are_decoded_and_other_fields_are_text(
    queue: Queue, worker: Callable, follow: Callable
) -> None:
    events = follow()
    queue.add("n", attempts=2)
    late = queue.add("later", delay=60_000)
    late.remove()
    worker(lambda job: {"made": job.attempts_made, "text": "☃"}).run(until="drained")
    queue.pause()
    heard = {event.event: event for event in events_until(events, "paused")}
    assert heard["completed"].returnvalue == {"made": 0, "text": "☃"}
    assert heard["completed"]["returnvalue"] == heard["completed"].returnvalue
    assert isinstance(heard["delayed"].delay, int)
    assert heard["paused"].job_id is None
    assert "☃" not in repr(heard["completed"])
    with pytest.raises(AttributeError, match="has no 'failed_reason'"):
        _ = heard["completed"].failed_reason


def test_fields_can_be_read_by_their_name_in_python_or_in_redis(
    queue: Queue, worker: Callable, follow: Callable
) -> None:
    def fail(job: object) -> None:
        raise ValueError("boom")

    events = follow()
    queue.add("n")
    worker(fail).run(until="drained")
    failed = next(event for event in events if event.event == "failed")
    assert failed.failed_reason == failed["failed_reason"] == failed["failedReason"] == "boom"
    exhausted = next(event for event in events if event.event == "retries-exhausted")
    assert exhausted.attempts_made == 1


def test_a_new_loop_continues_where_the_last_one_stopped(queue: Queue, follow: Callable) -> None:
    events = follow()
    added = [job.id for job in queue.add_bulk([{"name": "n"}] * 700)]
    heard = []
    while len(heard) < len(added):
        for event in events:
            if event.event == "added":
                heard.append(event.job_id)
                if len(heard) % 100 == 7:
                    break
                if len(heard) == len(added):
                    break
    assert heard == added


def test_iterating_ends_when_nothing_comes_for_a_while(queue: Queue, follow: Callable) -> None:
    events = follow()
    queue.add("n")
    assert [event.event for event in events.iterate(timeout=100)] == ["added", "waiting"]


def test_the_stream_can_be_read_from_its_beginning_and_from_any_entry(queue: Queue, follow: Callable) -> None:
    job = queue.add("n")
    first, second = follow(last_event_id="0-0").iterate(timeout=100)
    assert (first.event, second.event) == ("added", "waiting")
    (only,) = follow(last_event_id=first.id).iterate(timeout=100)
    assert (only.event, only.job_id, only.id) == ("waiting", job.id, second.id)


def test_closing_takes_no_time_and_ends_loops(queue: Queue, follow: Callable) -> None:
    events = follow()
    events.on("added", lambda event: None)
    ended: list[list[Event]] = []
    loop = threading.Thread(target=lambda: ended.append(list(events)))
    loop.start()
    queue.add("n")
    began = time.monotonic()
    events.close()
    assert time.monotonic() - began < 5, "it does not wait for the end of the read, 10 s"
    wait_until(lambda: ended)
    assert events.closing
    with pytest.raises(errors.ClosedError):
        iter(events)


def test_closing_takes_no_time_without_a_server() -> None:
    events = QueueEvents("q", url="redis://127.0.0.1:1/0")
    events.on("added", lambda event: None)
    began = time.monotonic()
    events.close()
    assert time.monotonic() - began < 5
    assert not events.is_running()


def test_a_slow_reader_buffers_few_events_and_misses_none(queue: Queue, redis: Redis, follow: Callable) -> None:
    events = follow()
    with commands_about(queue.name, redis) as commands:
        queue.add_bulk([{"name": "n"}] * 4_000)
        passing = events.iterate(timeout=1_000)
        next(passing)
        time.sleep(0.1)
        assert commands().count("XREAD") <= 6
        assert 1 + sum(1 for _ in passing) == 8_000
        assert commands().count("XREAD") > 30


def test_the_connection_has_the_name_that_other_clients_look_for(redis: Redis, queue: Queue, follow: Callable) -> None:
    import base64

    follow()
    name = f"bull:{base64.b64encode(queue.name.encode()).decode()}:qe"
    assert [client["name"] for client in redis.client_list()].count(name) == 1


def test_options_are_checked(redis_url: str) -> None:
    with pytest.raises(errors.UnknownOptionError, match="'last_event_id'"):
        QueueEvents("q", url=redis_url, lastEventId="0-0")
    with pytest.raises(errors.InvalidOptionError, match="blocking_timeout must be greater than 0"):
        QueueEvents("q", url=redis_url, blocking_timeout=0)
