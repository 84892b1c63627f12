"""Sentinels say that a failover begins: writes wait for the new master from then on, for 10 s at most."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from redis import Redis

from bullrush import Queue, Worker, errors
from bullrush.embedded import EmbeddedRedis
from tests.servers.sentinel import port_of
from tests.waiting import wait_until

from .fake_sentinel import FakeSentinel
from .handlers import Handlers
from .held_writes import writes_wait

pytestmark = pytest.mark.timeout(90)

WRITES: dict[str, Callable[[Queue], object]] = {
    "add": lambda queue: queue.add("any"),
    "add_bulk": lambda queue: queue.add_bulk([{"name": "any"}] * 2000),
    "pause": lambda queue: queue.pause(),
    "clean": lambda queue: queue.clean(0, 10, "completed"),
}


@pytest.fixture
def new_server() -> Iterator[EmbeddedRedis]:
    """Return the server that takes over."""
    with EmbeddedRedis(port=0, password="") as other:
        yield other


@pytest.fixture
def sentinel(server) -> Iterator[FakeSentinel]:
    with FakeSentinel(port_of(server)) as sentinel:
        yield sentinel


@pytest.fixture
def url(sentinel) -> Iterator[str]:
    """Return the URL; a queue is open there, so that this process listens to the Sentinel."""
    url = f"redis+sentinel://127.0.0.1:{sentinel.port}/main"
    with Queue("other", url=url) as queue:
        queue.add("first")
        wait_until(lambda: sentinel.listeners, "it listens")
        yield url


@pytest.fixture
def old(server) -> Iterator[Redis]:
    with Redis.from_url(server.url, decode_responses=True) as redis:
        yield redis


@contextmanager
def adding(queue: Queue) -> Iterator[threading.Thread]:
    """Add a job in another thread, which ends before the block does."""
    thread = threading.Thread(target=queue.add, args=("any",))
    thread.start()
    try:
        yield thread
    finally:
        thread.join(30)
        assert not thread.is_alive()


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_that_waits_for_longer_than_its_timeout_says_that_nothing_was_sent(sentinel, url, old, write):
    with Queue("work", url=url, timeout=1500) as queue:
        queue.get_job_counts()
        sentinel.begin_failover()
        wait_until(lambda: writes_wait(url), "writes wait")
        with pytest.raises(errors.ConnectionLostError, match="a failover is under way.* nothing was sent"):
            write(queue)
        assert queue.get_job_counts("wait") == {"wait": 0}, "reads go on"
    assert [key for key in old.scan_iter("bull:work:*") if key != "bull:work:meta"] == []


def test_a_write_that_waits_goes_to_the_new_master(sentinel, url, old, new_server):
    with Queue("work", url=url) as queue:
        sentinel.begin_failover(replica=port_of(new_server))
        wait_until(lambda: writes_wait(url), "writes wait")
        with adding(queue) as thread:
            for _ in range(20):
                assert queue.get_job_counts("wait") == {"wait": 0}, "reads go on"
            assert thread.is_alive()
            sentinel.switch(port_of(new_server))
    with Redis.from_url(new_server.url) as new:
        assert new.llen("bull:work:wait") == 1
    assert old.exists("bull:work:wait") == 0


def test_a_write_that_waits_goes_on_once_the_sentinel_gives_up(sentinel, url, old):
    with Queue("work", url=url) as queue:
        sentinel.begin_failover()
        wait_until(lambda: writes_wait(url), "writes wait")
        with adding(queue):
            sentinel.give_up()
    assert old.llen("bull:work:wait") == 1


def test_the_failover_of_another_master_holds_up_nothing(sentinel, url, old):
    sentinel.begin_failover(name="another")
    sentinel.begin_failover(name="mainly")
    sentinel.give_up()
    with Queue("work", url=url, timeout=5000) as queue:
        for _ in range(50):
            queue.add("any")
    assert old.llen("bull:work:wait") == 50


def test_a_sentinel_that_lies_stops_writes_for_10_seconds_at_most(sentinel, url, old):
    lies = threading.Event()

    def lie() -> None:
        while not lies.wait(0.02):
            sentinel.begin_failover()

    liar = threading.Thread(target=lie)
    liar.start()
    try:
        wait_until(lambda: writes_wait(url), "writes wait")
        with Queue("work", url=url, timeout=30_000) as queue:
            began = time.monotonic()
            queue.add("any")
            waited = time.monotonic() - began
            assert 1 < waited < 15, "for about 10 s in all"
        # The Sentinel goes on to lie, and nobody waits any more.
        with Queue("work", url=url, timeout=5000) as queue:
            for _ in range(99):
                queue.add("any")
    finally:
        lies.set()
        liar.join()
    assert old.llen("bull:work:wait") == 100


def test_a_worker_whose_wait_gets_a_marker_of_the_old_master_fetches_at_the_new_one(
    sentinel, url, server, old, new_server, ledger
):
    with Queue("work", url=server.url) as at_old, Queue("work", url=new_server.url) as at_new:
        for queue in (at_old, at_new):
            queue.add("brief", job_id="before")
        worker = Worker("work", Handlers(ledger), url=url)
        working = threading.Thread(target=worker.run)
        working.start()
        try:
            wait_until(lambda: old.zcard("bull:work:completed") == 1, "it works")
            wait_until(lambda: old.info("clients")["blocked_clients"] == 1, "it waits for jobs")
            sentinel.begin_failover(replica=port_of(new_server))
            wait_until(lambda: writes_wait(url), "writes wait")
            # What the new master has, too: its replica has copied it.
            at_new.add("brief", job_id="during")
            at_old.add("brief", job_id="during")
            wait_until(lambda: old.exists("bull:work:marker") == 0, "the wait has got the marker")
            sentinel.switch(port_of(new_server))
            wait_until(lambda: "during" in ledger.ended, "the job has run")
        finally:
            worker.close()
            working.join()
        assert old.llen("bull:work:wait") == 1, "it was not fetched at the old master"
        assert at_new.get_job_counts("wait", "active") == {"wait": 0, "active": 0}
