"""Each process hears from the Sentinels when another server is the master, and leaves the old one at once."""

import socket
import threading
from collections.abc import Iterator

import pytest
from redis import Redis

from bullrush import Queue, Worker
from bullrush.embedded import EmbeddedRedis
from tests.servers.sentinel import port_of
from tests.waiting import wait_until
from tests.watching import is_connected

from .fake_sentinel import FakeSentinel
from .forking import Child
from .handlers import Handlers

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def other_server() -> Iterator[EmbeddedRedis]:
    """Return a server that is a master, too: it takes over."""
    with EmbeddedRedis(port=0, password="") as other:
        yield other


@pytest.fixture
def sentinels(server) -> Iterator[list[FakeSentinel]]:
    with FakeSentinel(port_of(server)) as first, FakeSentinel(port_of(server)) as second:
        yield [first, second]


def url_of(*sentinels: FakeSentinel) -> str:
    return f"redis+sentinel://{','.join(f'127.0.0.1:{sentinel.port}' for sentinel in sentinels)}/main"


def test_a_process_listens_once_to_each_sentinel_until_its_last_queue_is_closed(sentinels, ledger):
    url = url_of(*sentinels)
    queues = [Queue(name, url=url) for name in ("one", "two", "three")]
    worker = Worker("one", Handlers(ledger), url=url)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        for queue in queues:
            queue.add("quick")
        wait_until(lambda: ledger.ended, "the worker works")
        wait_until(lambda: all(sentinel.listeners for sentinel in sentinels), "it listens to each of them")
        assert [len(sentinel.listeners) for sentinel in sentinels] == [1, 1]
    finally:
        worker.close()
        working.join()
    assert [len(sentinel.listeners) for sentinel in sentinels] == [1, 1], "queues are still open"
    for queue in queues:
        queue.close()
    wait_until(lambda: not any(sentinel.listeners for sentinel in sentinels), "nobody listens any more")


@pytest.mark.parametrize("which", [0, 1])
def test_an_old_master_that_still_answers_is_left_as_soon_as_one_sentinel_names_another(
    sentinels, server, other_server, ledger, which
):
    url = url_of(*sentinels)
    queue = Queue("work", url=url)
    worker = Worker("work", Handlers(ledger), url=url)
    working = threading.Thread(target=worker.run)
    working.start()
    with Redis.from_url(server.url, decode_responses=True) as old, Redis.from_url(other_server.url) as new:
        try:
            queue.add("quick", job_id="before")
            wait_until(lambda: is_connected(old) and ledger.ended, "it works and waits")
            wait_until(lambda: all(sentinel.listeners for sentinel in sentinels), "it listens to each of them")
            sentinels[1 - which].master = port_of(other_server)
            sentinels[which].switch(port_of(other_server))
            wait_until(lambda: is_connected(new), "it waits at the new master")
            queue.add("quick", job_id="after")
            wait_until(lambda: "after" in ledger.ended, "it works there")
            assert not is_connected(old)
            assert old.exists("bull:work:after") == 0
        finally:
            worker.close()
            working.join()


def test_the_master_is_found_though_a_sentinel_names_one_that_is_silent(sentinels, server, ledger):
    with socket.create_server(("127.0.0.1", 0), backlog=200) as silent, FakeSentinel(port_of(server)) as honest:
        sentinels[0].master = silent.getsockname()[1]
        url = url_of(sentinels[0], honest)
        Queue("work", url=url, timeout=30_000).add("quick")
        with Worker("work", Handlers(ledger), url=url, autorun=True):
            wait_until(lambda: ledger.ended, "the job has run")


def test_a_sentinel_that_comes_back_is_heard_again(sentinels, server, other_server, own_redis):
    queue = Queue("work", url=url_of(*sentinels))
    queue.add("any")
    wait_until(lambda: all(sentinel.listeners for sentinel in sentinels), "it listens to each of them")
    for sentinel in sentinels:
        sentinel.hang_up()
    wait_until(lambda: all(sentinel.listeners for sentinel in sentinels), "it listens again")
    sentinels[1].master = port_of(other_server)
    sentinels[0].switch(port_of(other_server))
    wait_until(lambda: len(own_redis.client_list()) == 1, "it has left the old master")
    queue.add("any", job_id="after")
    with Redis.from_url(other_server.url) as new:
        assert new.exists("bull:work:after")


def test_a_forked_child_listens_for_itself(sentinels, server, other_server, tmp_path):
    queue = Queue("work", url=url_of(*sentinels))
    queue.add("any")
    wait_until(lambda: sentinels[0].listeners, "the parent listens")
    gate = tmp_path / "gate"

    def add_until_the_gate_opens() -> None:
        wait_until(lambda: queue.add("any") and gate.exists())

    child = Child(add_until_the_gate_opens)
    try:
        wait_until(lambda: len(sentinels[0].listeners) == 2, "the child listens")
        sentinels[1].master = port_of(other_server)
        sentinels[0].switch(port_of(other_server))
        with Redis.from_url(other_server.url) as new:
            wait_until(lambda: new.exists("bull:work:wait"), "the child adds there")
    finally:
        gate.touch()
        child.result()
