"""Jobs are read as tables while connections break and Redis refuses: every job once, or an error."""

import itertools

import pyarrow as pa
import pytest

from bullrush import Queue
from bullrush.arrow import ArrowReader
from bullrush.errors import ConnectionLostError, RedisServerError

JOBS = 22_000
SCHEMA = pa.schema({"jobId": pa.string(), "returnvalue": pa.int64()})


@pytest.fixture
def finished(queue, own_redis) -> None:
    pipeline = own_redis.pipeline(transaction=False)
    for number in range(JOBS):
        job = {"name": "n", "timestamp": 1, "finishedOn": number // 50, "returnvalue": number}
        pipeline.hset(f"bull:{queue.name}:j{number:05}", mapping=job)
    scores = {f"j{number:05}": number // 50 for number in range(JOBS)}
    pipeline.zadd(f"bull:{queue.name}:completed", scores)
    pipeline.execute()


@pytest.mark.parametrize("break_", ["cut", "reset"])
def test_connections_that_break_while_jobs_are_read_cost_no_row(queue, proxy, finished, break_) -> None:
    reader, found = ArrowReader(Queue(queue.name, url=proxy.url), SCHEMA), []
    for batch in reader.scores("completed"):
        getattr(proxy, break_)()
        found.append(batch.column("returnvalue").to_pylist())
    assert list(itertools.chain(*found)) == list(range(JOBS))
    assert proxy.accepted > 1


def test_a_server_that_stays_away_is_an_error_and_no_end_of_the_table(queue, proxy, finished) -> None:
    batches = ArrowReader(Queue(queue.name, url=proxy.url, timeout=300), SCHEMA).scores("completed")
    next(batches)
    proxy.refuse(True)
    proxy.cut()
    with pytest.raises(ConnectionLostError):
        list(batches)


def test_what_redis_refuses_is_an_error_and_no_missing_row(queue, own_redis, finished) -> None:
    own_redis.set(f"bull:{queue.name}:ext:run-r", "no list")
    with pytest.raises(RedisServerError, match="WRONGTYPE"):
        list(ArrowReader(queue, SCHEMA).run("r"))
    own_redis.execute_command("ACL", "SETUSER", "default", "-hmget")
    try:
        with pytest.raises(RedisServerError, match="NOPERM"):
            list(ArrowReader(queue, SCHEMA).scores("completed"))
    finally:
        own_redis.execute_command("ACL", "SETUSER", "default", "+hmget")
