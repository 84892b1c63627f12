"""The option ``fan_out``: a marker per job that a call makes ready, so that idle workers wake at the same time."""

import asyncio
import re
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from redis import Redis

from bullrush import FlowProducer, Job, Queue, Worker, aio
from bullrush.errors import InvalidOptionError
from tests.waiting import wait_until
from tests.watching import commands_about, waiting_workers


@pytest.fixture
def markers(redis: Redis, queue_name: str) -> Callable[[], set[str]]:
    """The members of the queue's marker."""
    return lambda: set(redis.zrange(f"bull:{queue_name}:marker", 0, -1))  # type: ignore[arg-type]


@pytest.fixture
def hints(markers: Callable[[], set[str]]) -> Callable[[], set[str]]:
    """Those of them that ``fan_out`` sets."""
    return lambda: {member for member in markers() if member.startswith("w:")}


@pytest.fixture
def fanning(queue: Queue, redis_url: str, queue_name: str) -> Queue:
    """The test's queue, with the option."""
    return Queue(queue_name, url=redis_url, fan_out=True)


def many(count: int, **opts: Any) -> list[dict[str, Any]]:
    return [{"name": "n", "opts": opts} for _ in range(count)]


@pytest.mark.parametrize("opts", [{}, {"priority": 3}, {"lifo": True}])
def test_jobs_that_are_added_together_have_a_marker_each(
    fanning: Queue, markers: Callable[[], set[str]], opts: Any
) -> None:
    fanning.add_bulk(many(4, **opts))
    assert markers() == {"0", "w:2", "w:3", "w:4"}


def test_without_the_option_there_is_one_marker(queue: Queue, markers: Callable[[], set[str]]) -> None:
    queue.add_bulk(many(4))
    assert markers() == {"0"}


def test_a_flow_has_a_marker_per_job_that_may_run(
    queue: Queue, redis_url: str, queue_name: str, hints: Callable[[], set[str]]
) -> None:
    child = {"queue_name": queue_name, "name": "c"}
    with FlowProducer(url=redis_url, fan_out=True) as flows:
        flows.add({"queue_name": queue_name, "name": "p", "children": [child, child, child]})
    assert len(hints()) == 2


def test_calls_that_make_many_jobs_ready_set_markers(
    fanning: Queue, redis: Redis, queue_name: str, hints: Callable[[], set[str]], worker: Callable[..., Worker]
) -> None:
    def after(call: Callable[[], Any]) -> int:
        redis.delete(f"bull:{queue_name}:marker")
        call()
        return len(hints())

    fanning.add_bulk(many(3, delay=60_000))
    assert after(fanning.promote_jobs) == 2
    fanning.pause()
    assert after(fanning.resume) == 2
    worker(lambda job: None).run(until="empty")
    assert after(lambda: fanning.retry_jobs(state="completed")) == 2


def test_a_queue_of_aio_has_the_option(
    queue: Queue, redis_url: str, queue_name: str, hints: Callable[[], set[str]]
) -> None:
    async def add() -> None:
        async with aio.Queue(queue_name, url=redis_url, fan_out=True) as fanning:
            await fanning.add_bulk(many(3))

    asyncio.run(add())
    assert len(hints()) == 2


def test_each_marker_wakes_one_idle_worker(
    fanning: Queue, redis_url: str, queue_name: str, hints: Callable[[], set[str]]
) -> None:
    """All four handlers wait for each other, and in the end no marker of the fan-out is left."""
    together = threading.Barrier(4)
    with ExitStack() as stack:
        for _ in range(4):
            one = Worker(
                queue_name, lambda job: together.wait(30), url=redis_url, prefetch=0, fan_out=True, autorun=True
            )
            stack.enter_context(one).wait_until_ready()
        fanning.add_bulk(many(4))
        wait_until(lambda: fanning.get_completed_count() == 4)
        wait_until(lambda: not hints())


def test_a_worker_that_a_marker_wakes_for_nothing_removes_the_others(
    queue: Queue, redis: Redis, queue_name: str, redis_url: str, markers: Callable[[], set[str]]
) -> None:
    """It does not pop them one by one, and the marker for delayed jobs stays."""
    due = 4_000_000_000_000
    with Worker(queue_name, lambda job: None, url=redis_url, autorun=True) as idle:
        idle.wait_until_ready()
        wait_until(lambda: waiting_workers(queue_name, redis))
        with commands_about(queue_name, redis) as commands:
            redis.zadd(f"bull:{queue_name}:marker", {"1": due, **{f"w:{number}": 0 for number in range(200)}})
            wait_until(lambda: markers() <= {"1"})
            assert commands().count("BZPOPMIN") < 10


def test_a_manual_worker_that_is_woken_for_nothing_removes_them_as_well(
    queue: Queue, redis: Redis, queue_name: str, worker: Callable[..., Worker], hints: Callable[[], set[str]]
) -> None:
    redis.zadd(f"bull:{queue_name}:marker", {f"w:{number}": 0 for number in range(200)})
    with commands_about(queue_name, redis) as commands:
        assert worker(drain_delay=100).get_next_job("t") is None
        assert hints() == set()
        assert commands().count("BZPOPMIN") < 10


def test_parents_that_are_released_together_wake_several_workers(
    queue: Queue, redis_url: str, queue_name: str, redis: Redis
) -> None:
    """They wait in a queue that nobody works.

    Redis is paused until all children have run, so that few calls end them.
    """
    home = f"{queue_name}-home"
    ran = re.compile(r"^bullmq_job_duration_seconds_count\S* 8$", re.MULTILINE)

    def run(jobs: list[Job]) -> list[int]:
        redis.client_pause(60_000, all=False)
        return [1] * len(jobs)

    with FlowProducer(url=redis_url) as flows:
        flows.add_bulk(
            [{"queue_name": home, "name": "p", "children": [{"queue_name": queue_name, "name": "c"}]} for _ in range(8)]
        )
    with Worker(queue_name, batch_handler=run, batch_size=8, url=redis_url, fan_out=True) as one:
        ending = threading.Thread(target=lambda: one.run(until="empty"))
        ending.start()
        try:
            wait_until(lambda: ran.search(one.export_prometheus_metrics()))
        finally:
            redis.client_unpause()
        ending.join(30)
    markers = redis.zrange(f"bull:{home}:marker", 0, -1)
    assert "0" in markers
    assert 2 <= len(markers) <= 8
    redis.delete(*redis.keys(f"bull:{home}:*"))


@pytest.mark.parametrize("make", [Queue, Worker])
@pytest.mark.parametrize("value", ["yes", 1, None])
def test_another_value_is_refused(make: Any, value: Any, queue_name: str) -> None:
    with pytest.raises(InvalidOptionError, match="fan_out must be True or False"):
        make(queue_name, fan_out=value)
