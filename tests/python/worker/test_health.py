"""Health of workers and queues: stuck is work that is due and nobody claims; everything else is well."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from redis import Redis

from bullrush import Job, Queue, Worker, aio
from bullrush._core import now_ms
from bullrush.embedded import EmbeddedRedis
from bullrush.errors import InvalidOptionError
from bullrush.worker import WorkerHealth
from bullrush.worker.lanes.lane import Lane
from tests.waiting import wait_until
from tests.watching import waiting_workers


@contextmanager
def running(worker: Worker) -> Iterator[Worker]:
    thread = threading.Thread(target=worker.run)
    thread.start()
    wait_until(lambda: (worker.health().last_fetch_age or -1) >= 0, "it has fetched")
    try:
        yield worker
    finally:
        worker.close()
        thread.join()


@pytest.fixture
def old(queue: Queue, redis: Redis) -> Queue:
    """Return a queue with a job that has been due for an hour."""
    job = queue.add("n")
    redis.hincrby(queue.to_key(job.id), "timestamp", -3_600_000)
    return queue


def test_an_idle_worker_is_healthy(redis_url: str, queue: Queue) -> None:
    with running(Worker(queue.name, lambda job: None, url=redis_url)) as worker:
        health = worker.health(stuck_after=0)
        assert health.healthy and health.running and health.connected
        assert (health.in_hand, health.oldest_due_age, health.loop_lag) == (0, None, None)
    assert worker.health().problems == ("stopped",)


def test_work_that_is_due_and_not_claimed_is_a_problem(redis_url: str, old: Queue, redis: Redis) -> None:
    assert old.health().problems == ("stuck",)
    assert old.health().oldest_due_age >= 3_600_000
    assert old.health(stuck_after=7_200_000).healthy
    with running(Worker(old.name, lambda job: None, url=redis_url, drain_delay=60_000)) as worker:
        wait_until(lambda: old.get_completed_count() == 1)
        assert old.health().healthy
        wait_until(lambda: waiting_workers(old.name, redis) == 1)
        # A job that no marker announces: the worker sleeps, as it would after a fault.
        job_id = next(iter(redis.zrange(old.to_key("completed"), 0, 0)))
        redis.hdel(old.to_key(job_id), "processedOn")
        redis.lpush(old.to_key("wait"), job_id)
        assert worker.health(stuck_after=0).problems == ("stuck",)
        assert worker.health().problems == ()
        redis.lrem(old.to_key("wait"), 0, job_id)


def test_a_job_of_a_dead_worker_that_nobody_takes_back_is_a_problem(redis_url: str, queue: Queue, redis: Redis) -> None:
    queue.set_global_concurrency(1)
    job = queue.add("n")
    with Worker(queue.name, url=redis_url) as worker:
        worker.get_next_job("t")
        redis.hincrby(queue.to_key(job.id), "processedOn", -3_600_000)
        assert queue.health().healthy, "its lock holds"
        redis.delete(queue.to_key(f"{job.id}:lock"))
        assert queue.health().problems == ("stuck",)
        assert queue.health(stuck_after=7_200_000).healthy
        queue.pause()
        assert queue.health().healthy


def test_a_job_that_ends_and_is_removed_while_redis_is_asked_has_started_lately(queue: Queue, redis: Redis) -> None:
    redis.lpush(f"bull:{queue.name}:active", "gone")
    age = queue.health().last_claim_age
    assert age is not None and age < 60_000


def test_a_paused_or_limited_queue_is_not_stuck(old: Queue) -> None:
    old.pause()
    assert old.health().healthy and old.health().paused
    old.resume()
    assert not old.health().healthy
    old.rate_limit(60_000)
    assert old.health().healthy and old.health().limited


def test_a_rate_limit_that_only_the_workers_know_is_no_problem(redis_url: str, queue: Queue) -> None:
    queue.add_bulk([{"name": "n"}] * 2)
    limiter = {"max": 1, "duration": 60_000}
    with running(Worker(queue.name, lambda job: None, url=redis_url, limiter=limiter)) as worker:
        wait_until(lambda: queue.get_completed_count() == 1)
        assert worker.health(stuck_after=0).healthy
        assert queue.health(stuck_after=0).healthy


def test_a_worker_that_is_busy_with_long_jobs_is_not_stuck(redis_url: str, queue: Queue, redis: Redis) -> None:
    gate = threading.Event()
    queue.add_bulk([{"name": "n"}] * 2)
    for job in queue.get_waiting():
        redis.hincrby(queue.to_key(job.id), "timestamp", -3_600_000)
    with running(Worker(queue.name, lambda job: gate.wait(20), url=redis_url, prefetch=0)) as worker:
        wait_until(lambda: worker.health().in_hand == 1)
        health = worker.health(stuck_after=0)
        gate.set()
        assert health.oldest_due_age >= 3_600_000
        assert health.problems == ()


def test_a_worker_whose_slots_for_a_queue_are_full_is_not_stuck(redis_url: str, queue: Queue, redis: Redis) -> None:
    """It has free slots for its other queue."""
    gate = threading.Event()
    queue.add_bulk([{"name": "n"}] * 2)
    for job in queue.get_waiting():
        redis.hincrby(queue.to_key(job.id), "timestamp", -3_600_000)
    worker = Worker(queue.name, lambda job: gate.wait(20), url=redis_url, concurrency=3)
    worker.serve([Lane(queue.name, concurrency=1), Lane(f"{queue.name}-b", concurrency=2)])
    with running(worker):
        wait_until(lambda: worker.health().in_hand == 1)
        assert worker.health(stuck_after=0).problems == ()
        gate.set()


def test_a_worker_that_runs_a_job_alone_is_not_stuck(redis_url: str, queue: Queue, redis: Redis) -> None:
    gate = threading.Event()
    suspect, other = queue.add_bulk([{"name": "n"}] * 2)
    redis.hset(queue.to_key(suspect.id), "stc", 1)
    redis.hincrby(queue.to_key(other.id), "timestamp", -3_600_000)
    with running(Worker(queue.name, lambda job: gate.wait(20), url=redis_url, concurrency=2)) as worker:
        wait_until(lambda: worker.health().in_hand == 1)
        health = worker.health(stuck_after=0)
        gate.set()
    assert (health.oldest_due_age or 0) >= 3_600_000
    assert health.problems == ()


def test_a_worker_whose_only_slot_has_a_batch_that_is_not_full_is_not_stuck(
    redis_url: str, queue: Queue, redis: Redis
) -> None:
    gate = threading.Event()
    options = {"batch_handler": lambda jobs: gate.wait(20), "batch_size": 10, "concurrency": 1, "prefetch": 0}
    queue.add("n")
    with running(Worker(queue.name, url=redis_url, **options)) as worker:
        wait_until(lambda: worker.health().in_hand == 1)
        late = queue.add("n")
        redis.hincrby(queue.to_key(late.id), "timestamp", -3_600_000)
        health = worker.health(stuck_after=0)
        gate.set()
        assert (health.oldest_due_age or 0) >= 3_600_000
        assert health.problems == ()


@pytest.mark.parametrize("options", [{"routes_only": True}, {"claim": "scan"}], ids=["routes only", "scan"])
def test_a_worker_is_not_stuck_over_jobs_that_are_for_others(
    redis_url: str, queue: Queue, redis: Redis, options: dict[str, object]
) -> None:
    job = queue.add("n")
    if "claim" in options:  # as Node stores a target
        redis.hset(queue.to_key(job.id), "opts", '{"target": {"capabilities": ["cpu"]}}')
    redis.hincrby(queue.to_key(job.id), "timestamp", -3_600_000)
    profile = {"capabilities": ["gpu"]}
    with running(Worker(queue.name, lambda job: None, url=redis_url, profile=profile, **options)) as worker:
        wait_until(lambda: (worker.health().last_fetch_age or -1) >= 0)
        health = worker.health(stuck_after=10_000)
        assert (health.oldest_due_age or 0) >= 3_600_000
        assert health.problems == ()


def test_delayed_jobs_are_due_after_their_delay(queue: Queue, redis: Redis) -> None:
    queue.add("n", delay=60_000)
    assert queue.health(stuck_after=0).oldest_due_age is None
    redis.zadd(queue.to_key("delayed"), {"1": 4096 * 1_000})
    assert queue.health().problems == ("stuck",)


def test_a_queue_with_more_or_older_jobs_than_somebody_wants_is_crowded_or_late(queue: Queue) -> None:
    queue.add("n", timestamp=now_ms() - 10_000)
    queue.add_bulk([{"name": "n", "opts": {"priority": 1}}, {"name": "n"}, {"name": "n", "opts": {"delay": 60_000}}])
    health = queue.health(max_waiting=3, max_oldest=60_000)
    assert (health.waiting, health.problems) == (3, ())
    assert queue.health(max_waiting=2).problems == ("crowded",)
    assert queue.health(max_oldest=9_000).problems == ("late",)
    assert queue.health(max_waiting=0, max_oldest=timedelta(0)).problems == ("crowded", "late")
    queue.pause()
    assert queue.health(max_waiting=2, max_oldest=9_000).waiting == 3
    assert "crowded" in queue.health(max_waiting=2).problems
    for wrong in ({"max_waiting": -1}, {"max_oldest": -1}, {"max_waiting": "many"}):
        with pytest.raises(InvalidOptionError, match=next(iter(wrong))):
            queue.health(**wrong)


def test_without_redis_it_is_disconnected() -> None:
    queue = Queue("nothing", url="redis://127.0.0.1:1", timeout=300)
    assert queue.health().problems == ("disconnected",)
    assert set(Worker("nothing", print, url="redis://127.0.0.1:1").health().problems) == {"stopped", "disconnected"}


@pytest.mark.parametrize(("prefix", "name"), [("{bull}", "{}"), ("bull", "{{{}}}"), ("{0}", "{}")])
def test_a_hash_tag_in_the_prefix_or_the_name_is_only_text(
    prefix: str, name: str, redis_url: str, queue_name: str
) -> None:
    with running(Worker(name.format(queue_name), print, url=redis_url, prefix=prefix)) as worker:
        assert worker.health().healthy


def test_an_event_loop_has_a_lag(redis_url: str, queue: Queue) -> None:
    async def handle(job: aio.Job) -> None: ...

    async def main() -> WorkerHealth:
        async with aio.Worker(queue.name, handle, url=redis_url) as worker:
            task = asyncio.create_task(worker.run())
            health = await worker.health()
            while health.last_fetch_age is None:
                health = await worker.health()
            await worker.close()
            await task
            return health

    health = asyncio.run(main())
    assert health.healthy and health.loop_lag is not None and health.loop_lag < 1_000


def test_a_worker_whose_redis_is_full_is_refused_also_while_its_outcomes_pass() -> None:
    begun, is_full = threading.Event(), threading.Event()

    def handler(job: Job) -> None:
        begun.set()
        is_full.wait(30)
        job.log("no room for this")

    with (
        EmbeddedRedis(port=0, password="") as server,
        Redis.from_url(server.url) as redis,
        Queue("mail", url=server.url) as queue,
    ):
        queue.add_bulk([{"name": "n"}] * 3)
        with running(Worker("mail", handler, url=server.url)) as worker:
            assert begun.wait(30) and worker.health().healthy
            redis.config_set("maxmemory", 1)
            is_full.set()
            wait_until(lambda: queue.get_failed_count() == 3, "outcomes pass one by one, and bring the next job")
            assert (worker.health().problems, worker.health().refusal) == (("refused",), "OOM")
            assert all("OOM" in str(job.failed_reason) for job in queue.get_failed())
            redis.config_set("maxmemory", 0)
            assert (worker.health().problems, worker.health().refusal) == ((), None)
