"""Managing a queue: which jobs are removed, which stay, and how many per call."""

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Worker, _core, aio, errors
from tests.watching import commands_about


@pytest.fixture
def key(queue: Queue) -> Callable[[str], str]:
    return queue.to_key


def finish(worker: Callable[..., Worker], queue: Queue, count: int) -> None:
    queue.add_bulk([{"name": "n", "data": n} for n in range(count)])
    worker(lambda job: None).run(until="drained")


def test_clean_removes_the_jobs_that_are_old_enough(queue: Queue, worker: Callable[..., Worker]) -> None:
    finish(worker, queue, 5)
    assert queue.clean(60_000, 0) == []
    assert queue.clean(0, 2) == ["1", "2"]
    assert queue.clean(0, 0, "completed") == ["3", "4", "5"]
    assert queue.get_job_counts("completed") == {"completed": 0}


def test_clean_emits_an_event(queue: Queue, redis: Redis) -> None:
    heard: list[Any] = []
    queue.on("cleaned", lambda *arguments: heard.append(arguments))
    queue.add("n")
    assert queue.clean(0, 0, "waiting") == ["1"]
    assert heard == [(["1"], "wait")]
    assert redis.xrevrange(queue.to_key("events"), count=1)[0][1] == {"event": "cleaned", "count": "1"}


def test_wrong_arguments_of_clean_are_refused(queue: Queue) -> None:
    with pytest.raises(errors.InvalidOptionError, match=r"no 'complete' jobs to clean\. Did you mean 'completed'"):
        queue.clean(0, 0, "complete")  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidOptionError, match="limit"):
        queue.clean(0, -1)
    with pytest.raises(errors.InvalidOptionError, match="grace"):
        queue.clean("1 day", 0)  # type: ignore[arg-type]


def test_clean_removes_more_than_ten_thousand_jobs_with_an_event_for_each_call(queue: Queue, redis: Redis) -> None:
    queue.add_bulk([{"name": "n"} for _ in range(12_000)])
    ids = queue.clean(0, 0, "wait")
    assert len(ids) == len(set(ids)) == 12_000
    counts = [fields["count"] for _, fields in redis.xrange(queue.to_key("events")) if fields["event"] == "cleaned"]
    assert counts == ["10000", "2000"]
    assert queue.count() == 0


def test_clean_never_removes_more_than_its_limit(queue: Queue) -> None:
    queue.add_bulk([{"name": "n"} for _ in range(12_000)])
    assert len(queue.clean(0, 11_000, "wait")) == 11_000
    assert queue.get_waiting_count() == 1_000


def test_a_long_queue_is_drained_250_jobs_at_a_time(queue: Queue, redis: Redis) -> None:
    queue.drain()  # now the server has the script
    queue.add_bulk([{"name": "n", "opts": {"priority": n % 2}} for n in range(5_000)])
    with commands_about(queue.name, redis) as commands:
        queue.drain()
        assert commands().count("EVALSHA") == 21
    assert queue.count() == 0
    assert [key for key in redis.scan_iter(queue.to_key("*"), count=10_000) if key[-1].isdigit()] == []


def test_drain_removes_by_value_so_that_the_job_behind_a_schedulers_is_not_lost(queue: Queue, redis: Redis) -> None:
    """BullMQ trims by count: it would remove the scheduler's id and keep that of a removed job."""
    queue.add("mine")
    redis.zadd(queue.to_key("repeat"), {"s": 20})
    redis.hset(queue.to_key("repeat:s:20"), mapping={"name": "tick", "rjk": "s", "data": "{}"})
    redis.lpush(queue.to_key("wait"), "repeat:s:20")
    queue.add("mine")
    queue.drain()
    assert redis.lrange(queue.to_key("wait"), 0, -1) == ["repeat:s:20"]


def test_trim_events_shortens_the_stream(queue: Queue, redis: Redis) -> None:
    queue.add_bulk([{"name": "n"} for _ in range(1_000)])
    removed = queue.trim_events(0)
    assert removed == 2_000
    assert redis.xlen(queue.to_key("events")) == 0


def test_keys_of_old_versions_and_rate_limits_can_be_removed(queue: Queue, redis: Redis) -> None:
    redis.zadd(queue.to_key("priority"), {"1": 1})
    assert (queue.remove_deprecated_priority_key(), queue.remove_deprecated_priority_key()) == (1, 0)
    queue.rate_limit(60_000)
    assert (queue.remove_rate_limit_key(), queue.remove_rate_limit_key()) == (1, 0)


def test_orphans_are_found_and_removed_and_nothing_else(
    queue: Queue, redis: Redis, worker: Callable[..., Worker]
) -> None:
    finish(worker, queue, 3)
    queue.add("waits")
    queue.add("later", delay=60_000)
    queue.add("mine", job_id="a:b:c")
    queue.add("first", priority=1)
    kept = set(redis.scan_iter(queue.to_key("*")))
    for lost in ("50", "a:b:d", "repeat:s:20"):
        redis.hset(queue.to_key(lost), mapping={"name": "n", "timestamp": 1, "data": "{}", "opts": "{}"})
    redis.rpush(queue.to_key("60:logs"), "row")
    assert queue.remove_orphaned_jobs(limit=1) == 1
    assert queue.remove_orphaned_jobs(count=1) == 3
    assert set(redis.scan_iter(queue.to_key("*"))) == kept
    assert queue.remove_orphaned_jobs() == 0


@pytest.mark.parametrize("part", ["failed", "processed", "lock", "logs"])
def test_a_job_whose_id_ends_like_the_key_of_a_job_is_not_removed(queue: Queue, redis: Redis, part: str) -> None:
    queue.add("n", job_id=f"order:7:{part}")
    redis.rpush(queue.to_key(f"order:7:{part}:logs"), "row")
    assert queue.remove_orphaned_jobs() == 0
    redis.delete(queue.to_key("wait"))
    assert queue.remove_orphaned_jobs() == 1
    assert list(redis.scan_iter(queue.to_key("order*"))) == []


def test_a_prefix_with_glob_characters_matches_only_its_own_keys(redis_url: str, queue_name: str, redis: Redis) -> None:
    with Queue(queue_name, url=redis_url, prefix="{b*[l]}") as queue:
        queue.add("n")
        redis.hset(queue.to_key("50"), mapping={"name": "n", "timestamp": 1})
        assert queue.remove_orphaned_jobs() == 1
        assert queue.get_waiting_count() == 1


@pytest.mark.parametrize("force", [False, True])
def test_obliterate_of_a_paused_queue_leaves_no_marker(queue: Queue, redis: Redis, force: bool) -> None:
    queue.pause()
    queue.add("later", delay=60_000)
    assert redis.exists(queue.to_key("marker"))
    queue.obliterate(force=force)
    assert list(redis.scan_iter(queue.to_key("*"))) == []


def test_obliterate_refuses_active_jobs_and_leaves_the_queue_paused(queue: Queue, redis: Redis) -> None:
    queue.add("n")
    redis.lmove(queue.to_key("wait"), queue.to_key("active"))
    with pytest.raises(errors.BullrushError, match="Cannot obliterate queue with active jobs"):
        queue.obliterate()
    assert queue.is_paused()
    assert queue.get_active_count() == 1


def test_retry_can_count_attempts_from_0_again(queue: Queue, worker: Callable[..., Worker]) -> None:
    def fail(job: object) -> None:
        raise ValueError("no")

    job_id = queue.add("n").id
    worker(fail).run(until="drained")
    job = queue.get_job(job_id)
    assert job is not None
    assert (job.attempts_made, job.attempts_started) == (1, 1)
    job.retry(reset_attempts_made=True)
    assert (job.attempts_made, job.attempts_started) == (0, 1)
    read = queue.get_job(job_id)
    assert read is not None
    assert (read.attempts_made, read.attempts_started, read.failed_reason) == (0, 1, None)
    worker(fail).run(until="drained")
    job.retry(reset_attempts_started=True)
    read = queue.get_job(job_id)
    assert read is not None
    assert (read.attempts_made, read.attempts_started) == (1, 0)


def test_a_queue_object_shows_its_options_and_metadata(redis_url: str, queue_name: str) -> None:
    with Queue(queue_name, url=redis_url, default_job_options={"attempts": 3}) as queue:
        assert queue.jobs_opts == queue.default_job_options == {"attempts": 3}
        assert queue.meta_values == {"opts.maxLenEvents": 10_000, "version": _core.BULLMQ_VERSION}
        queue.wait_until_ready()
        assert queue.get_meta() == {name: str(value) for name, value in queue.meta_values.items()}
        with Queue(queue_name, url=redis_url, skip_metas_update=True) as other:
            assert other.meta_values == {}
            assert len({queue.token, other.token}) == 2


async def _awaited(url: str, name: str) -> None:
    async with aio.Queue(name, url=url) as queue:
        await queue.add_bulk([{"name": "n"} for _ in range(3)])
        assert await queue.clean(0, 1, "wait") == ["1"]
        await queue.drain()
        assert await queue.remove_orphaned_jobs() == 0
        assert await queue.get_workers_count() == 0
        job = await aio.Job.create(queue, "n", {"a": 1}, {"delay": 5})
        assert (await aio.Job.from_id(queue, job.id)).data == {"a": 1}
        assert await aio.Job.add_job_log(queue, job.id, "row") == 1
        assert await job.get_children_values() == {}


def test_all_administration_calls_work_with_asyncio(redis_url: str, queue_name: str, redis: Redis) -> None:
    import asyncio

    asyncio.run(_awaited(redis_url, queue_name))
