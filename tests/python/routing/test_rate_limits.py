"""The rate limit of a queue with routes: one for each, or one for all of them."""

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Worker
from tests.waiting import wait_until

GPU: Any = {"capabilities": ["gpu"]}


@pytest.mark.parametrize(("shared", "started"), [(False, 4), (True, 2)])
def test_routes_can_share_the_rate_limit_of_their_queue(
    queue: Queue, redis: Redis, worker: Callable[..., Worker], shared: bool, started: int
) -> None:
    for _ in range(5):
        queue.add("a", {})
        queue.add("a", {}, target=GPU)
    limiter = {"max": 2, "duration": 60_000}
    options = {"profile": GPU, "limiter": limiter, "share_rate_limit": shared, "autorun": True, "concurrency": 10}
    worker(lambda job: None, **options)
    keys = [f"bull:{name}:limiter" for name in (queue.name, f"{queue.name}~cap.gpu")]
    limits = [2, None] if shared else [2, 2]
    wait_until(lambda: [limit and int(limit) for limit in redis.mget(keys)] == limits)
    route = queue.route(GPU)
    wait_until(lambda: queue.get_completed_count() + route.get_completed_count() == started)
    assert queue.get_waiting_count() + route.get_waiting_count() == 10 - started


def test_a_global_rate_limit_of_the_queue_counts_for_its_routes(
    queue: Queue, redis: Redis, worker: Callable[..., Worker]
) -> None:
    queue.set_global_rate_limit(3, 60_000)
    for _ in range(5):
        queue.add("a", {}, target=GPU)
    worker(lambda job: None, profile=GPU, share_rate_limit=True, autorun=True, concurrency=10)
    route = queue.route(GPU)
    wait_until(lambda: route.get_completed_count() == 3)
    assert redis.get(f"bull:{queue.name}:limiter") == "3"
    assert not redis.exists(f"bull:{route.name}:limiter")
    assert route.get_waiting_count() == 2


@pytest.mark.parametrize(("own", "limiter"), [(1_000, 3), (1, 3), (1, None)])
def test_a_global_rate_limit_of_a_route_says_nothing_where_the_limit_is_shared(
    queue: Queue, worker: Callable[..., Worker], own: int, limiter: int | None
) -> None:
    """It neither lifts the shared limit nor holds up the route."""
    queue.add("a")
    for _ in range(5):
        queue.add("a", target=GPU)
    route = queue.route(GPU)
    route.set_global_rate_limit(own, 60_000)
    options: Any = {} if limiter is None else {"limiter": {"max": limiter, "duration": 60_000}}
    worker(lambda job: None, profile=GPU, share_rate_limit=True, autorun=True, concurrency=10, **options)
    started = 6 if limiter is None else limiter
    wait_until(lambda: queue.get_completed_count() + route.get_completed_count() == started)
    assert queue.get_waiting_count() + route.get_waiting_count() == 6 - started


@pytest.mark.parametrize(
    ("workers", "concurrency", "most"), [(1, 1, 5), (1, 8, 5), (2, 8, 10), (4, 8, 10), (3, 20, 10)]
)
def test_lanes_that_share_a_rate_limit_start_jobs_by_their_weights(
    queue: Queue, worker: Callable[..., Worker], workers: int, concurrency: int, most: int
) -> None:
    """Two routes and the base, all with jobs: two of five jobs are of each route, one is of the base."""
    targets: list[Any] = [GPU, {"region": ["eu"]}, None]
    for target in targets:
        queue.add_bulk([{"name": "n", "opts": {"target": target} if target else {}} for _ in range(32 * most)])
    started: list[str] = []
    profile = {"capabilities": ["gpu"], "region": ["eu"]}
    limiter = {"max": most, "duration": 50}
    for _ in range(workers):
        worker(
            lambda job: started.append(job.queue_name),
            profile=profile,
            concurrency=concurrency,
            limiter=limiter,
            share_rate_limit=True,
            autorun=True,
        )
    total = 32 * most
    wait_until(lambda: len(started) >= total)
    assert 0.17 <= started[:total].count(queue.name) / total <= 0.23
