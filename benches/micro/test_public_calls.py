"""What the public calls take, one at a time, on a private Redis. `benches.harness.calls` compares them with the stored baseline."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benches.harness.payload import NAME, payload
from bullrush import FlowProducer, Queue
from bullrush.embedded import EmbeddedRedis

_numbers = itertools.count()


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with EmbeddedRedis(port=0) as server:
        yield server.url


@pytest.fixture
def queue(redis_url: str) -> Iterator[Queue]:
    with Queue(f"calls-{next(_numbers)}", url=redis_url) as queue:
        queue.wait_until_ready()
        yield queue
        queue.obliterate(force=True)


def test_reference(benchmark: BenchmarkFixture, redis_url: str) -> None:
    """What all others are measured by: a round trip to the same server without any client, on the same machine in the same minute."""
    address = urlsplit(redis_url)
    with socket.create_connection((address.hostname, address.port or 6379)) as wire:
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def ping() -> bytes:
            wire.sendall(b"PING\r\n")
            return wire.recv(16)

        assert benchmark(ping) == b"+PONG\r\n"


def test_add(benchmark: BenchmarkFixture, queue: Queue) -> None:
    benchmark(queue.add, NAME, payload(0))


def test_add_with_options(benchmark: BenchmarkFixture, queue: Queue) -> None:
    benchmark(queue.add, NAME, payload(0), priority=1, attempts=3, backoff={"type": "exponential", "delay": 1_000})


def test_add_bulk_of_100(benchmark: BenchmarkFixture, queue: Queue) -> None:
    benchmark(queue.add_bulk, [{"name": NAME, "data": payload(index)} for index in range(100)])


def test_get_job(benchmark: BenchmarkFixture, queue: Queue) -> None:
    job = queue.add(NAME, payload(0))
    assert job.id
    benchmark(queue.get_job, job.id)


def test_get_jobs_of_100(benchmark: BenchmarkFixture, queue: Queue) -> None:
    queue.add_bulk([{"name": NAME, "data": payload(index)} for index in range(100)])
    benchmark(queue.get_jobs, ["waiting"], 0, 99)


def test_get_job_counts(benchmark: BenchmarkFixture, queue: Queue) -> None:
    benchmark(queue.get_job_counts)


def test_add_flow_of_ten_children(benchmark: BenchmarkFixture, queue: Queue, redis_url: str) -> None:
    with FlowProducer(url=redis_url) as producer:
        child = {"name": NAME, "queue_name": queue.name, "data": {}}
        benchmark(producer.add, {**child, "children": [child] * 10})
