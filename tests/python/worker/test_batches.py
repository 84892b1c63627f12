"""Batches: a slot whose batch is not full takes no further jobs until that has ended."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import Job, Queue, Worker
from tests.waiting import wait_until

Make = Callable[..., Worker]


class Batches:
    """A batch handler that holds each batch until `go_on`, and the sizes of the batches so far."""

    def __init__(self, kind: str) -> None:
        self.sizes: list[int] = []
        self._go_on = threading.Event()
        self.handler: Any = self.run if kind == "thread" else self.run_async

    def go_on(self) -> None:
        self._go_on.set()

    def run(self, jobs: list[Job]) -> list[None]:
        self.sizes.append(len(jobs))
        assert self._go_on.wait(30)
        return [None] * len(jobs)

    async def run_async(self, jobs: list[Any]) -> list[None]:
        return await asyncio.to_thread(self.run, jobs)


@pytest.fixture(params=["thread", "async"])
def batches(request: pytest.FixtureRequest) -> Batches:
    return Batches(request.param)


@pytest.mark.parametrize("options", [{}, {"prefetch": 0}, {"limiter": {"max": 100, "duration": 60_000}}], ids=str)
@pytest.mark.parametrize("limit", [None, 8], ids=["free", "global_concurrency"])
def test_jobs_that_come_while_a_batch_runs_go_to_other_workers(
    queue: Queue, worker: Make, batches: Batches, options: dict[str, Any], limit: int | None
) -> None:
    if limit:
        queue.set_global_concurrency(limit)
    worker(batch_handler=batches.handler, batch_size=50, autorun=True, **options)
    queue.add("first")
    wait_until(lambda: batches.sizes == [1], "the only slot is busy")
    later = queue.add_bulk([{"name": "n"}] * 7)
    worker(lambda job: "another", concurrency=10, autorun=True, **options)
    assert [job.wait_until_finished(timeout=20_000) for job in later] == ["another"] * 7
    batches.go_on()
    assert batches.sizes == [1]


def test_a_batch_that_was_not_full_is_followed_by_a_full_one(queue: Queue, worker: Make, batches: Batches) -> None:
    worker(batch_handler=batches.handler, batch_size=50, prefetch=0, autorun=True)
    queue.add("first")
    wait_until(lambda: batches.sizes == [1], "the only slot is busy")
    queue.add_bulk([{"name": "n"}] * 100)
    batches.go_on()
    wait_until(lambda: queue.get_completed_count() == 101)
    assert batches.sizes[:2] == [1, 50] and sum(batches.sizes) == 101


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("options", [{}, {"prefetch": 0}], ids=str)
@pytest.mark.parametrize("whose", ["worker", "queue"])
def test_batches_start_as_many_jobs_as_a_rate_limit_allows(
    queue: Queue, redis: Redis, worker: Make, options: dict[str, Any], slots: int, whose: str
) -> None:
    """Each job that is fetched starts: one that went back would count in the limit all the same."""
    limit = {"max": 60, "duration": 600_000}
    if whose == "queue":
        queue.set_global_rate_limit(**limit)
    else:
        options = {**options, "limiter": limit}
    queue.add_bulk([{"name": "n"}] * 200)
    sizes: list[int] = []

    def handle(jobs: list[Any]) -> list[None]:
        sizes.append(len(jobs))
        return [None] * len(jobs)

    worker(batch_handler=handle, batch_size=10, concurrency=slots, autorun=True, **options)
    wait_until(lambda: sum(sizes) == 60, "all that the limit allows have started")
    wait_until(lambda: queue.get_completed_count() == 60)
    events = Counter(fields["event"] for _, fields in redis.xrange(queue.to_key("events")))
    assert (events["active"], events["waiting"]) == (60, 200)


def test_each_slot_has_a_batch_of_its_own(queue: Queue, worker: Make, batches: Batches) -> None:
    worker(batch_handler=batches.handler, batch_size=5, concurrency=2, prefetch=0, autorun=True)
    queue.add("first")
    wait_until(lambda: batches.sizes == [1], "one slot is busy")
    queue.add_bulk([{"name": "n"}] * 12)
    wait_until(lambda: len(batches.sizes) == 2, "the other one as well")
    assert batches.sizes == [1, 5]
    assert queue.get_active_count() == 6
    batches.go_on()
    wait_until(lambda: queue.get_completed_count() == 13)
    assert sum(batches.sizes) == 13
