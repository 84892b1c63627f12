"""The times of the public calls, one at a time, on a private Redis. `benches.harness.calls` compares builds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import bullrush
from benches.harness.payload import NAME, payload
from bullrush import FlowProducer, Queue
from bullrush.embedded import EmbeddedRedis

_numbers = itertools.count()


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with EmbeddedRedis(port=0, password="") as server:
        yield server.url


@pytest.fixture(autouse=True)
def build(benchmark: BenchmarkFixture) -> None:
    """Note which build is measured."""
    benchmark.extra_info["build"] = bullrush.__file__


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
