"""Queues that one worker serves share its turns fairly."""

import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bullrush import Job, Queue
from bullrush.worker.lanes.lane import Lane
from tests.waiting import wait_until

LOADS = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 24)), min_size=2, max_size=5)


def fill(queue: Queue, count: int) -> None:
    if count:
        queue.add_bulk([{"name": "n"} for _ in range(count)])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(loads=LOADS)
def test_each_queue_with_jobs_gets_a_turn_within_the_sum_of_the_weights(
    queues: Any, serve: Any, loads: list[tuple[int, int]]
) -> None:
    """The sum is that of the queues that have jobs. With one slot, each job is a turn."""
    made = queues(len(loads))
    for queue, (_, count) in zip(made, loads, strict=True):
        fill(queue, count)
    order: list[int] = []
    positions = {queue.name: position for position, queue in enumerate(made)}
    lanes = [Lane(queue.name, weight=weight) for queue, (weight, _) in zip(made, loads, strict=True)]
    serve(lambda job: order.append(positions[job.queue_name]), lanes, start=False, concurrency=1).run(until="empty")
    left, waited = [count for _, count in loads], [0] * len(loads)
    bound = [0] * len(loads)
    for at in order:
        total = sum(weight for (weight, _), count in zip(loads, left, strict=True) if count)
        for position, count in enumerate(left):
            # A queue may have run out of jobs without the worker knowing it yet: this costs one turn, which is no job.
            waited[position] = 0 if position == at or not count else waited[position] + 1
            bound[position] = 0 if position == at else max(bound[position], total)
            assert waited[position] < max(bound[position], 1), (order, position)
        left[at] -= 1
    assert left == [0] * len(made)


def test_the_turns_of_queues_with_jobs_are_in_proportion_to_their_weights(queues: Any, serve: Any) -> None:
    made = queues(3)
    for queue in made:
        fill(queue, 40)
    order: list[str] = []
    lanes = [Lane(queue.name, weight=weight) for queue, weight in zip(made, (4, 2, 1), strict=True)]
    worker = serve(lambda job: order.append(job.queue_name), lanes, start=False)
    worker.run(until="empty")
    assert [order[:35].count(queue.name) for queue in made] == [20, 10, 5]
    assert len(order) == 120


@pytest.mark.parametrize("strict", [True, False])
def test_a_strict_worker_serves_better_tiers_first(queues: Any, serve: Any, strict: bool) -> None:
    base, specific, server = made = queues(3)
    for queue in made:
        fill(queue, 20)
    order: list[str] = []
    lanes = [Lane(base.name), Lane(specific.name, tier="specific"), Lane(server.name, tier="server")]
    worker = serve(lambda job: order.append(job.queue_name), lanes, start=False, strict=strict)
    worker.run(until="empty")
    best_first = [server.name] * 20 + [specific.name] * 20 + [base.name] * 20
    assert (order == best_first) == strict
    assert sorted(order) == sorted(best_first)


def test_a_lane_has_no_more_jobs_at_a_time_than_allowed(queues: Any, serve: Any) -> None:
    few, many = queues(2)
    fill(few, 30)
    fill(many, 30)
    running: list[str] = []
    most = {few.name: 0, many.name: 0}

    async def handler(job: Any) -> None:
        running.append(job.queue_name)
        most[job.queue_name] = max(most[job.queue_name], running.count(job.queue_name))
        assert await job.get_state() == "active"
        running.remove(job.queue_name)

    worker = serve(handler, [Lane(few.name, concurrency=2), Lane(many.name)], start=False, concurrency=10)
    done = worker.run(until="empty")
    assert (done.completed, most[few.name]) == (60, 2)
    assert most[many.name] > 2


@pytest.mark.parametrize("delay", [0, 50])
def test_a_queue_that_gets_a_job_while_the_worker_is_busy_with_another_is_served(
    queues: Any, serve: Any, delay: int
) -> None:
    """The worker never waits for a job, so no marker tells it."""
    busy, other = queues(2)
    other.add("first", {})
    fill(busy, 10)
    done: list[str] = []

    def handler(job: Job) -> None:
        done.append(job.queue_name)
        if job.queue_name == busy.name and done.count(other.name) < 2:
            busy.add("n", {})

    serve(handler, [busy, other], concurrency=1)
    wait_until(lambda: len(done) > 20)
    other.add("second", {}, delay=delay)
    wait_until(lambda: done.count(other.name) == 2, seconds=10)


def test_a_busy_worker_serves_a_queue_soon_that_had_no_jobs(queues: Any, serve: Any) -> None:
    busy, other = queues(2)
    fill(other, 1)
    fill(busy, 300)
    done: list[str] = []

    def handler(job: Job) -> None:
        done.append(job.queue_name)
        time.sleep(0.01)

    serve(handler, [busy, other], concurrency=1)
    wait_until(lambda: other.name in done and len(done) > 20)
    before = len(done)
    fill(other, 1)
    wait_until(lambda: done.count(other.name) == 2)
    assert done[before:].index(other.name) < 25, "not only when it looks everywhere twice a second"
