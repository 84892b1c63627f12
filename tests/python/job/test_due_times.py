"""How far in the future a job can be due: as long as Redis scores are exact. A later time is refused."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest
from redis import Redis

from bullrush import FlowProducer, Job, Queue, Worker, aio
from bullrush._core import now_ms
from bullrush.errors import DelayedError, InvalidOptionError

LATEST = 2**41 - 1
#: Ms from now that end after the limit.
TOO_FAR = 25 * 366 * 24 * 3600 * 1000

ADDING: dict[str, Callable[[Queue], Any]] = {
    "add": lambda queue: queue.add("n", delay=TOO_FAR),
    "add after its own time": lambda queue: queue.add("n", timestamp=LATEST, delay=1),
    "add_bulk": lambda queue: queue.add_bulk([{"name": "n"}] * 300 + [{"name": "n", "opts": {"delay": TOO_FAR}}]),
    "add_arrow": lambda queue: queue.add_arrow(pa.table({"x": [1]}), "n", opts={"delay": TOO_FAR}),
    "deduplicated": lambda queue: queue.add("n", delay=TOO_FAR, deduplication={"id": "d"}),
    "linked bulk": lambda queue: queue.add_bulk(
        [{"name": "n", "opts": {"deduplication": {"id": "d"}}}] * 300
        + [{"name": "n", "opts": {"delay": TOO_FAR, "deduplication": {"id": "e"}}}]
    ),
    "start_date": lambda queue: queue.upsert_job_scheduler(
        "s", {"every": 1000, "start_date": datetime(2039, 9, 8, tzinfo=timezone.utc)}
    ),
    "every": lambda queue: queue.upsert_job_scheduler("s", {"every": TOO_FAR}),
    "pattern": lambda queue: queue.upsert_job_scheduler("s", {"pattern": "0 0 1 1 *", "start_date": LATEST - 1}),
}


@pytest.mark.parametrize("way", ADDING)
def test_a_job_that_would_be_due_too_late_is_refused_before_anything_is_written(
    queue: Queue, redis: Redis, way: str
) -> None:
    queue.wait_until_ready()
    before = set(redis.scan_iter(queue.to_key("*")))
    with pytest.raises(InvalidOptionError, match=r"cannot be due later than 2039-09-07T15:47:35\.551Z"):
        ADDING[way](queue)
    assert set(redis.scan_iter(queue.to_key("*"))) == before


def test_a_flow_with_such_a_job_is_refused_as_a_whole(queue: Queue, redis_url: str, redis: Redis) -> None:
    child = {"name": "late", "queue_name": queue.name, "opts": {"delay": TOO_FAR}}
    with FlowProducer(url=redis_url) as flows, pytest.raises(InvalidOptionError, match="delay: a job cannot be due"):
        flows.add({"name": "root", "queue_name": queue.name, "children": [child]})
    assert list(redis.scan_iter(queue.to_key("*"))) == []


def test_the_latest_allowed_time_is_accepted_and_keeps_the_order(queue: Queue, redis: Redis) -> None:
    jobs = [queue.add("n", timestamp=LATEST - 5, delay=5) for _ in range(2)]
    stored = redis.zrange(queue.to_key("delayed"), 0, -1, withscores=True)
    assert stored == [(jobs[0].id, LATEST * 4096), (jobs[1].id, LATEST * 4096 + 1)]


def test_the_delay_of_a_delayed_job_cannot_be_changed_beyond_the_limit(queue: Queue, redis: Redis) -> None:
    job = queue.add("n", delay=60_000)
    before = redis.hgetall(queue.to_key(job.id)), redis.zrange(queue.to_key("delayed"), 0, -1, withscores=True)
    with pytest.raises(InvalidOptionError, match="cannot be due later"):
        job.change_delay(TOO_FAR)
    after = redis.hgetall(queue.to_key(job.id)), redis.zrange(queue.to_key("delayed"), 0, -1, withscores=True)
    assert after == before


def test_a_running_job_cannot_be_delayed_beyond_the_limit(queue: Queue, worker: Callable[..., Worker]) -> None:
    def handler(job: Job) -> None:
        if job.attempts_started == 1:
            with pytest.raises(InvalidOptionError, match="timestamp: a job cannot be due later"):
                job.move_to_delayed(now_ms() + TOO_FAR)
            job.move_to_delayed(now_ms() + 5)
            raise DelayedError

    job = queue.add("n")
    worker(handler).run(until="drained")
    assert job.get_state() == "completed"


@pytest.mark.parametrize("backoff", [TOO_FAR, {"type": "exponential", "delay": 2**45}, {"type": "mine"}])
def test_a_backoff_beyond_the_limit_ends_at_the_latest_allowed_time(
    queue: Queue, worker: Callable[..., Worker], redis: Redis, backoff: Any
) -> None:
    job = queue.add("n", attempts=5, backoff=backoff)
    worker(lambda job: 1 / 0, max_backoff=None, backoff_strategy=lambda *_: TOO_FAR).run(max_jobs=1)
    assert job.get_state() == "delayed"
    assert redis.zscore(queue.to_key("delayed"), job.id) // 4096 == LATEST


def test_a_scheduler_ends_before_a_job_beyond_the_limit(
    queue: Queue, worker: Callable[..., Worker], redis: Redis
) -> None:
    queue.upsert_job_scheduler("s", {"every": 1000}, {"name": "n"})
    (job,) = queue.get_waiting()
    opts = f'{{"repeat":{{"count":1,"every":{TOO_FAR}}},"repeatJobKey":"s","attempts":0}}'
    redis.hset(queue.to_key(job.id), "opts", opts)
    redis.hset(queue.to_key("repeat:s"), "every", TOO_FAR)
    assert worker(lambda job: None).run(max_jobs=1).completed == 1
    assert queue.get_delayed_count() == 0


def test_the_limit_holds_with_asyncio(redis_url: str, queue_name: str) -> None:
    async def add() -> None:
        async with aio.Queue(queue_name, url=redis_url) as queue:
            await queue.add("n", delay=TOO_FAR)

    with pytest.raises(InvalidOptionError, match="cannot be due later"):
        asyncio.run(add())
