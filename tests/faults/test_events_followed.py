"""A reader of a queue's events gets each one, whatever happens to connections and servers."""

import threading
import time
from collections.abc import Iterator

import pytest
from redis import Redis

from bullrush import Event, Job, Queue, QueueEvents, Worker, errors
from bullrush.embedded import EmbeddedRedis
from tests.waiting import wait_until

from .proxy import Proxy


@pytest.fixture
def heard() -> list[str]:
    return []


@pytest.fixture
def follow(heard: list[str]) -> Iterator[object]:
    """Read the events of the queue; collect the ids of added jobs."""
    made: list[QueueEvents] = []

    def start(url: str) -> QueueEvents:
        events = QueueEvents("work", url=url)
        made.append(events)
        events.wait_until_ready()

        @events.on("added")
        def note(event: Event) -> None:
            heard.append(event.job_id or "")

        return events

    yield start
    for events in made:
        events.close()


def test_cut_connections_lose_no_event(queue: Queue, proxy: Proxy, follow, heard) -> None:
    follow(proxy.url)
    added = []
    for round in range(6):
        added += [job.id for job in queue.add_bulk([{"name": "n"}] * 40)]
        if round % 2:
            proxy.reset()
        else:
            proxy.cut()
    wait_until(lambda: len(heard) >= len(added), "all events are received")
    assert heard == added


def test_a_restarted_server_loses_no_event(lasting_server: EmbeddedRedis, follow, heard) -> None:
    queue = Queue("work", url=lasting_server.url)
    follow(lasting_server.url)  # it has read no event yet: it only knows the end of the stream
    added = [queue.add("n").id]
    lasting_server.kill()
    lasting_server.restart()
    added += [queue.add("n").id for _ in range(3)]
    wait_until(lambda: len(heard) >= len(added), "all events are received")
    assert heard == added


def test_a_reader_at_the_end_of_the_stream_misses_no_event_of_an_outage(
    queue: Queue, proxy: Proxy, follow, heard
) -> None:
    queue.add("before")
    follow(proxy.url)
    proxy.refuse(True)
    proxy.cut()
    missed = queue.add("meanwhile").id
    time.sleep(0.2)
    proxy.refuse(False)
    wait_until(lambda: heard, "the event is received")
    assert heard == [missed]


def test_events_of_a_full_server_are_read(queue: Queue, own_redis: Redis, server: EmbeddedRedis, follow, heard) -> None:
    before = queue.add("n").id
    own_redis.config_set("maxmemory", 1)
    events = follow(server.url)
    with QueueEvents("work", url=server.url, last_event_id="0-0") as other:
        assert next(iter(other)).job_id == before
    own_redis.config_set("maxmemory", 0)
    added = queue.add("n").id
    wait_until(lambda: heard, "the event is received")
    assert heard == [added]
    assert events.is_running()


def test_a_user_without_permission_gets_an_error_and_continues_when_it_is_granted(
    queue: Queue, own_redis: Redis, server: EmbeddedRedis, follow, heard
) -> None:
    own_redis.acl_setuser("reader", enabled=True, passwords=["+secret"], keys=["*"], commands=["+@all"])
    events = follow(server.url.replace("://", "://reader:secret@"))
    reported: list[Exception] = []
    events.on("error", reported.append)
    own_redis.acl_setuser("reader", commands=["-xread"])
    added = [queue.add("n").id for _ in range(2)]  # the first one ends the pending read
    wait_until(lambda: reported, "the error event came")
    assert isinstance(reported[0], errors.RedisServerError)
    assert reported[0].code == "NOPERM"
    own_redis.acl_setuser("reader", commands=["+xread"])
    wait_until(lambda: len(heard) == len(added), "all events are received")
    assert heard == added
    assert len(reported) < 4


def test_closing_takes_no_time_while_a_listener_runs(queue: Queue, server: EmbeddedRedis, heard) -> None:
    release = threading.Event()
    events = QueueEvents("work", url=server.url)
    events.wait_until_ready()

    @events.on("added")
    def block(event: Event) -> None:
        heard.append(event.job_id or "")
        release.wait(50)

    queue.add_bulk([{"name": "n"}] * 5)
    wait_until(lambda: heard, "the listener runs")
    events.close()
    assert not release.is_set(), "it does not wait for the listener"
    release.set()
    wait_until(lambda: not events.is_running(), "the thread has ended")
    assert len(heard) == 1


def test_closing_takes_no_time_while_the_server_does_not_answer(proxy: Proxy, follow) -> None:
    events = follow(proxy.url)
    proxy.swallow(True)
    began = time.monotonic()
    events.close()
    assert time.monotonic() - began < 5, "it does not wait until the server counts as silent"


def test_a_wait_for_a_job_outlives_a_cut_connection(queue: Queue, proxy: Proxy, server: EmbeddedRedis, follow) -> None:
    events = follow(proxy.url)
    job = queue.add("n", remove_on_complete=True)
    results: list[object] = []
    waiting = threading.Thread(target=lambda: results.append(job.wait_until_finished(events, timeout=20_000)))
    waiting.start()
    proxy.cut()
    with Worker("work", lambda job: "done", url=server.url) as worker:
        worker.run(until="drained")
    waiting.join(20)
    assert results == ["done"]


def test_a_wait_gets_the_result_of_a_job_that_ends_while_its_reader_connects(
    server: EmbeddedRedis, proxy: Proxy
) -> None:
    with Queue("work", url=server.url) as producer, Queue("work", url=proxy.url) as far:
        added = producer.add("n", remove_on_complete=True)
        waited = far.get_job(added.id)
        assert waited is not None
        before = proxy.accepted

        def handler(job: Job) -> str:
            wait_until(lambda: proxy.accepted > before, "the reader of the wait connects")
            return "the result"

        proxy.delay(0.2)
        with Worker("work", handler, url=server.url, autorun=True):
            assert waited.wait_until_finished(timeout=20_000, via="events") == "the result"
        assert producer.get_job(added.id) is None
        proxy.delay(0)
