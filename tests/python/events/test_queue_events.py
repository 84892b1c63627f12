"""Following the events of a queue, and publishing events of one's own."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from bullrush import Event, Queue, QueueEvents, QueueEventsProducer, Worker, aio, errors
from tests.waiting import wait_until


@pytest.fixture
def follow(redis_url: str, queue_name: str) -> Iterator[Callable[..., QueueEvents]]:
    """Make followers of the test's queue that miss nothing from then on."""
    made: list[QueueEvents] = []

    def make(**options: object) -> QueueEvents:
        events = QueueEvents(queue_name, url=redis_url, **options)
        made.append(events)
        events.wait_until_ready()
        return events

    yield make
    for events in made:
        events.close()


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


def test_results_and_numbers_are_decoded_and_all_else_is_text(queue: Queue, worker: Callable, follow: Callable) -> None:
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


def test_fields_go_by_their_name_here_and_by_their_name_in_redis(
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


def test_a_loop_that_breaks_off_goes_on_where_it_stopped(queue: Queue, follow: Callable) -> None:
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


def test_listeners_hear_of_all_jobs_or_of_one(queue: Queue, worker: Callable, follow: Callable) -> None:
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


def test_closing_takes_no_time_and_ends_loops(queue: Queue, follow: Callable) -> None:
    events = follow()
    events.on("added", lambda event: None)
    ended: list[list[Event]] = []
    loop = threading.Thread(target=lambda: ended.append(list(events)))
    loop.start()
    queue.add("n")
    began = time.monotonic()
    events.close()
    assert time.monotonic() - began < 0.1
    wait_until(lambda: ended)
    assert events.closing
    with pytest.raises(errors.ClosedError):
        iter(events)


def test_closing_takes_no_time_without_a_server() -> None:
    events = QueueEvents("q", url="redis://127.0.0.1:1/0")
    events.on("added", lambda event: None)
    time.sleep(0.05)
    began = time.monotonic()
    events.close()
    assert time.monotonic() - began < 0.1
    assert not events.is_running()


def test_a_slow_reader_holds_a_few_events_and_misses_none(queue: Queue, redis: Redis, follow: Callable) -> None:
    def reads() -> int:
        return int(redis.info("commandstats").get("cmdstat_xread", {"calls": 0})["calls"])

    events = follow()
    before = reads()
    queue.add_bulk([{"name": "n"}] * 4_000)
    passing = events.iterate(timeout=1_000)
    next(passing)
    time.sleep(0.1)
    assert reads() - before <= 6
    assert 1 + sum(1 for _ in passing) == 8_000
    assert reads() - before > 30


def test_a_listener_that_blocks_holds_up_nobody_who_waits_for_a_job(
    redis_url: str, queue: Queue, follow: Callable
) -> None:
    """The wait looks for itself once in 5 s: what is longer than the timeout, so that only an event can end it."""
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


def test_the_connection_is_named_as_others_look_for_it(redis: Redis, queue: Queue, follow: Callable) -> None:
    import base64

    follow()
    name = f"bull:{base64.b64encode(queue.name.encode()).decode()}:qe"
    assert [client["name"] for client in redis.client_list()].count(name) == 1


def test_a_stream_that_cannot_be_read_is_told(
    redis: Redis, queue: Queue, follow: Callable, caplog: pytest.LogCaptureFixture
) -> None:
    events = follow()
    told: list[Exception] = []
    redis.set(queue.to_key("events"), "not a stream")
    events.on("error", told.append)
    wait_until(lambda: told)
    assert isinstance(told[0], errors.RedisServerError)
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
            told = threading.Event()
            events.once("paused", lambda event: told.set())
            events.wait_until_ready()
            queue.pause()
            os.write(writing, b"heard" if told.wait(10) else b"nothing")
        finally:
            os._exit(0)
    os.close(writing)
    assert os.read(reading, 100) == b"heard"
    os.close(reading)
    os.waitpid(child, 0)


def test_options_are_checked(redis_url: str) -> None:
    with pytest.raises(errors.UnknownOptionError, match="'last_event_id'"):
        QueueEvents("q", url=redis_url, lastEventId="0-0")
    with pytest.raises(errors.InvalidOptionError, match="blocking_timeout must be greater than 0"):
        QueueEvents("q", url=redis_url, blocking_timeout=0)


# Events of one's own.


def test_an_event_of_ones_own_is_heard_with_its_fields(redis_url: str, queue_name: str, follow: Callable) -> None:
    events = follow()
    with QueueEventsProducer(queue_name, url=redis_url) as producer:
        producer.publish_event("paid", jobId="7", amount=12.5, customer="Ada", tags=["a", "b"], none=None)
    event = next(iter(events))
    assert dict(event) == {
        "event": "paid",
        "jobId": "7",
        "amount": "12.5",
        "customer": "Ada",
        "tags": '["a","b"]',
        "none": "null",
    }
    assert (event.event, event.job_id, event.customer) == ("paid", "7", "Ada")


def test_the_stream_keeps_about_as_many_events_as_asked_for(redis: Redis, redis_url: str, queue_name: str) -> None:
    with QueueEventsProducer(queue_name, url=redis_url) as producer:
        for number in range(300):
            producer.publish_event("tick", max_events=10, number=number)
        assert redis.xlen(producer.keys["events"]) < 150
        with pytest.raises(errors.InvalidOptionError, match="'event'"):
            producer.publish_event("tick", event="x")
        assert redis.exists(producer.keys["meta"]) == 0


# asyncio.


def test_asyncio_iterates_and_listens(redis_url: str, queue_name: str) -> None:
    async def main() -> tuple[list[str], list[str], list[str]]:
        looped: list[str] = []
        told: list[str] = []
        async with (
            aio.Queue(queue_name, url=redis_url) as queue,
            aio.QueueEvents(queue_name, url=redis_url) as events,
            aio.QueueEventsProducer(queue_name, url=redis_url) as producer,
        ):
            await events.wait_until_ready()

            async def note(event: Event) -> None:
                await asyncio.sleep(0)
                told.append(event.event)

            await queue.add("n")
            async for event in events:
                looped.append(event.event)
                if event.event == "waiting":
                    break
            events.on("custom", note)
            assert events.is_running()
            # It runs once the loop waits: the listener alone would take the event.
            publishing = asyncio.create_task(producer.publish_event("custom", n=1))
            async for event in events:
                looped.append(event.event)
                break
            await publishing
            rest = [event.event async for event in events.iterate(timeout=50)]
            return looped, told, rest

    looped, told, rest = asyncio.run(asyncio.wait_for(main(), 10))
    assert looped == ["added", "waiting", "custom"]
    assert (told, rest) == (["custom"], [])


def test_asyncio_closes_at_once(redis_url: str, queue_name: str) -> None:
    async def main() -> float:
        events = aio.QueueEvents(queue_name, url=redis_url)
        await events.wait_until_ready()
        events.on("added", lambda event: None)
        loop = asyncio.ensure_future(anext(aiter(events)))
        await asyncio.sleep(0.01)
        began = time.monotonic()
        await events.close()
        with pytest.raises(StopAsyncIteration):
            await loop
        return time.monotonic() - began

    assert asyncio.run(asyncio.wait_for(main(), 10)) < 0.1
