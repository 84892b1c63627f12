"""Writers that wait: for room in the queue, or in the memory of Redis."""

import logging
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest
from redis import Redis

from bullrush import Queue
from bullrush.arrow import ArrowWriter
from bullrush.embedded import EmbeddedRedis
from bullrush.errors import InvalidOptionError, RedisServerError
from tests.waiting import wait_until


@pytest.fixture
def server() -> Iterator[Redis]:
    """Return a client of a server that may be full."""
    with EmbeddedRedis(port=0, password="") as server, Redis.from_url(server.url) as client:
        client.url = server.url
        yield client


def test_a_writer_waits_while_the_queue_holds_too_many_jobs(queue: Queue, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "bullrush")
    queue.add_bulk([{"name": "n", "opts": {"priority": number % 2}} for number in range(6)])
    writer = ArrowWriter(queue, max_waiting=5)
    writing = threading.Thread(target=writer.add, args=(pa.table({"x": [1]}),))
    writing.start()
    wait_until(lambda: "holds 6 waiting jobs, more than 5" in caplog.text)
    assert writing.is_alive()
    queue.get_jobs("waiting")[0].remove()
    writing.join(30)
    assert (queue.count(), writer.added) == (6, 1)
    assert caplog.text.count("waiting jobs, more than") == 1


@pytest.mark.parametrize("parent", [None, "p"])
def test_a_writer_waits_until_redis_has_memory(
    server: Redis, caplog: pytest.LogCaptureFixture, parent: str | None
) -> None:
    queue = Queue("full", url=server.url)
    queue.add("parent", job_id="p")
    rows = pa.table({"x": range(3000), "parent": [parent] * 3000})
    server.config_set("maxmemory", 1)
    writer = ArrowWriter(queue, data=["x"], on_oom="wait", id_scope="s", batch_id="b", parent_column="parent")
    writing = threading.Thread(target=writer.add, args=(rows,))
    writing.start()
    wait_until(lambda: "the memory of Redis is full" in caplog.text)
    assert queue.count() == 1, "also a full server can be read"
    server.config_set("maxmemory", 0)
    writing.join(30)
    assert (writer.added, writer.duplicates, queue.count()) == (3000, 0, 3001)
    assert server.get("bull:full:ext:enq-b") == b"3000"
    assert caplog.text.count("the memory of Redis is full") == 1
    queue.close()


def test_without_waiting_a_full_redis_is_an_error(server: Redis) -> None:
    queue = Queue("full", url=server.url)
    server.config_set("maxmemory", 1)
    with pytest.raises(RedisServerError) as caught, ArrowWriter(queue) as writer:
        writer.write(pa.table({"x": [1]}))
    assert caught.value.code == "OOM"
    assert queue.count() == 0
    for wrong in ({"on_oom": "retry"}, {"on_invalid": "drop"}, {"max_waiting": -1}):
        with pytest.raises(InvalidOptionError):
            ArrowWriter(queue, **wrong)
    queue.close()
