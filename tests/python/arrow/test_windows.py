"""Windows of jobs: every finished job is in exactly one."""

import itertools
from collections.abc import Mapping

import pyarrow as pa
import pytest
from redis import Redis

from bullrush import Queue
from bullrush.arrow import ArrowReader
from bullrush.arrow.windows import plan_windows, redis_time
from bullrush.errors import InvalidOptionError

SCHEMA = pa.schema({"jobId": pa.string()})


def finish(redis: Redis, queue: Queue, scores: Mapping[str, float], state: str = "completed") -> None:
    pipeline = redis.pipeline(transaction=False)
    for job_id, at in scores.items():
        pipeline.hset(f"bull:{queue.name}:{job_id}", mapping={"name": "n", "timestamp": 1, "finishedOn": at})
    pipeline.zadd(f"bull:{queue.name}:{state}", scores)
    pipeline.execute()


def read(queue: Queue, parts) -> list[str]:
    reader = ArrowReader(queue, SCHEMA)
    batches = itertools.chain.from_iterable(window.read(reader) for part in parts for window in part)
    return sorted(itertools.chain.from_iterable(batch.column("jobId").to_pylist() for batch in batches))


@pytest.mark.parametrize("partitions", [1, 3, 8])
def test_finished_jobs_are_each_in_one_window_and_later_ones_in_none(
    queue: Queue, redis: Redis, partitions: int
) -> None:
    completed = {f"c{n}": 100 + n // 7 for n in range(500)}
    failed = {f"f{n}": 100 for n in range(300)}  # all in one ms
    finish(redis, queue, completed)
    finish(redis, queue, failed, "failed")
    parts = plan_windows(queue, ["completed", "failed"], partitions)
    assert 1 <= len(parts) <= partitions
    finish(redis, queue, {"later": 1_000})
    redis.zrem(f"bull:{queue.name}:completed", "c0", "c1", "c2")
    assert read(queue, parts) == sorted({*completed, *failed} - {"c0", "c1", "c2"})


def test_odd_scores_of_other_clients_are_in_a_window(queue: Queue, redis: Redis) -> None:
    scores = {"early": float("-inf"), "first": -5, "split": 1000.7, "never": float("inf")}
    finish(redis, queue, scores)
    assert read(queue, plan_windows(queue, ["completed"], 3)) == sorted(scores)


def test_parts_have_about_the_same_size(queue: Queue, redis: Redis) -> None:
    finish(redis, queue, {f"c{n}": n for n in range(1_000)})
    queue.add_bulk([{"name": "n", "data": n} for n in range(1_000)])
    parts = plan_windows(queue, ["completed", "waiting"], 4)
    sizes = [sum(window.size for window in part) for part in parts]
    assert sum(sizes) == 2_000
    assert max(sizes) <= 550
    assert len(read(queue, parts)) == 2_000


def test_only_jobs_that_finished_later_are_planned(queue: Queue, redis: Redis) -> None:
    finish(redis, queue, {f"c{n}": n for n in range(100)})
    assert read(queue, plan_windows(queue, ["completed"], 3, finished_after=90)) == [f"c{n}" for n in range(91, 100)]
    assert plan_windows(queue, ["completed"], 3, finished_after=99) == []
    with pytest.raises(InvalidOptionError, match="waiting"):
        plan_windows(queue, ["completed", "waiting"], 3, finished_after=90)


def test_waiting_jobs_of_a_paused_queue_are_waiting_ones(queue: Queue) -> None:
    queue.add_bulk([{"name": "n", "data": n, "opts": {"job_id": f"j{n}"}} for n in range(5)])
    queue.pause()
    assert read(queue, plan_windows(queue, ["waiting"], 2)) == [f"j{n}" for n in range(5)]


def test_an_empty_queue_has_no_window(queue: Queue) -> None:
    assert plan_windows(queue, ["completed", "failed", "waiting", "delayed"], 8) == []


def test_states_are_checked(queue: Queue) -> None:
    with pytest.raises(InvalidOptionError, match="Did you mean 'completed'"):
        plan_windows(queue, ["complete"], 8)
    for wrong in ("failed", []):
        with pytest.raises(InvalidOptionError):
            plan_windows(queue, wrong, 8)


def test_the_clock_of_redis_is_in_ms(queue: Queue, redis: Redis) -> None:
    seconds, micros = redis.time()
    assert 0 <= redis_time(queue) - (seconds * 1000 + micros // 1000) < 60_000
