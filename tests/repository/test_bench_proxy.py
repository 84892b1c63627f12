"""The proxy of the benchmarks lets so many calls per second through, whole, and counts all connections together."""

import time

import pytest
from redis import Redis

pytest.importorskip("psutil", reason="the benchmarks' packages are not installed: pip install --group bench")

from benches.harness.proxy import Calls
from benches.harness.servers import proxy

_SET = b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$8\r\n1\r\n*3\r\n4\r\n"
_PING = b"*1\r\n$4\r\nPING\r\n"


@pytest.mark.parametrize("size", [1, 2, 5, 1_000])
def test_calls_are_cut_wherever_the_pieces_end(size: int) -> None:
    sent, calls = _SET + _PING + _SET, Calls()
    found = [call for at in range(0, len(sent), size) for call in calls.feed(sent[at : at + size])]
    assert found == [_SET, _PING, _SET], "a value that looks like the protocol is no call"


def test_the_calls_of_all_connections_share_one_limit(redis_url: str, queue_name: str, redis: Redis) -> None:
    key = f"bull:{queue_name}:calls"
    with proxy(redis_url, 200) as url, Redis.from_url(url) as first, Redis.from_url(url) as second:
        pipelines = [client.pipeline(transaction=False) for client in (first, second)]
        for pipeline in pipelines:
            pipeline.incr(key)
            pipeline.execute()  # connects
            for _ in range(50):
                pipeline.incr(key)
        began = time.perf_counter()
        for pipeline in pipelines:
            assert len(pipeline.execute()) == 50
        seconds = time.perf_counter() - began
    assert seconds >= 0.49, "100 calls at 200 per second: 99 waits, if the first has its turn at once"
    assert int(redis.get(key) or 0) == 102


def test_a_server_some_way_off_answers_later_and_in_order(redis_url: str) -> None:
    with proxy(redis_url, 50, "delay") as url, Redis.from_url(url, decode_responses=True) as client:
        client.ping()  # connects
        began = time.perf_counter()
        client.ping()
        assert time.perf_counter() - began >= 0.05
        pipeline = client.pipeline(transaction=False)
        words = [str(number) * 1_000 for number in range(200)]
        for word in words:
            pipeline.echo(word)
        assert pipeline.execute() == words
