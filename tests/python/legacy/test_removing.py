"""LegacyQueue.remove: a job of Bull that cannot move, such as one whose id is taken."""

import asyncio

import pytest

import bullrush.aio
from bullrush import LegacyQueue


@pytest.mark.parametrize("state", ["wait", "delayed", "completed", "failed"])
def test_a_job_is_removed_with_its_log_and_its_debounce_id(state, redis, redis_url, queue_name):
    with LegacyQueue(queue_name, url=redis_url, flavor="4") as queue:
        job = queue.add("welcome", debounce={"id": "once"}, **({"delay": 60_000} if state == "delayed" else {}))
        redis.rpush(queue.to_key(f"{job.id}:logs"), "a row")
        if state in ("completed", "failed"):
            redis.delete(queue.to_key("wait"))
            redis.zadd(queue.to_key(state), {job.id: 1})
        assert queue.remove(job.id) is True and queue.remove(job.id) is False
        assert redis.keys(queue.to_key("*")) == [queue.to_key("id")]


def test_remove_is_awaited_in_asyncio(redis_url, queue_name):
    async def remove() -> bool:
        async with bullrush.aio.LegacyQueue(queue_name, url=redis_url, flavor="4") as queue:
            return await queue.remove((await queue.add("welcome")).id)

    assert asyncio.run(remove())
