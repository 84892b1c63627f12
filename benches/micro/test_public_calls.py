"""The times of the public calls, one at a time, on a private Redis.

`benches.harness.calls` compares them with the baseline.
"""

from __future__ import annotations

import itertools
import json
import socket
import time
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
    with EmbeddedRedis(port=0, password="") as server:
        yield server.url


@pytest.fixture(autouse=True)
def yardstick(benchmark: BenchmarkFixture, redis_url: str) -> Iterator[None]:
    """The yardstick of a call, measured before and after it: a round trip to the server without a client, and JSON."""
    address = urlsplit(redis_url)
    with socket.create_connection((address.hostname, address.port or 6379)) as wire:
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        before = _shortest(wire)
        yield
        benchmark.extra_info["yardstick"] = min(before, _shortest(wire))


def _shortest(wire: socket.socket) -> float:
    """Return its time in seconds without disturbance."""
    some, found = payload(0), []
    end = time.perf_counter() + 0.1
    while (began := time.perf_counter()) < end:
        wire.sendall(b"PING\r\n")
        wire.recv(16)
        for _ in range(10):
            json.dumps(some)
        found.append(time.perf_counter() - began)
    return min(found)


@pytest.fixture
def queue(redis_url: str) -> Iterator[Queue]:
    with Queue(f"calls-{next(_numbers)}", url=redis_url) as queue:
        queue.wait_until_ready()
        yield queue
        queue.obliterate(force=True)


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
