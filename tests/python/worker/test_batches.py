"""Batches: a slot whose batch is not full takes no further jobs until that has ended."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

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
    wait_until(lambda: queue.get_active_count() == 1, "what was fetched before the slot was busy is back")
    batches.go_on()
    wait_until(lambda: queue.get_completed_count() == 101)
    assert batches.sizes[:2] == [1, 50] and sum(batches.sizes) == 101


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
