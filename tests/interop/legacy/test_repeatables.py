"""Repeatables that `LegacyQueue` adds and removes are those that real Bull would add and leave."""

import asyncio
import os
import subprocess
import sys
from typing import Any

import pytest

import bullrush.aio
from bullrush import LegacyQueue
from bullrush.errors import InvalidOptionError, SchedulerJobError
from tests.interop.conftest import server_of
from tests.interop.sides.node_process import NodeProcess
from tests.interop.sides.state import read_state
from tests.waiting import wait_until

from .bull_queue import LATER, NAMED, add, keys_of, named_bulls, newest_bull

removing_bulls = pytest.mark.parametrize("bull", ["bull3", "bull4"], indirect=True)
ADD_WITHOUT_ZONE = """
import sys
from bullrush import LegacyQueue
with LegacyQueue(sys.argv[2], url=sys.argv[1], flavor="4") as queue:
    queue.add("welcome", repeat={"pattern": "30 7 * * *"})
"""


@pytest.fixture(params=["America/New_York", "Asia/Kolkata"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A time zone that new processes have."""
    monkeypatch.setenv("TZ", request.param)
    name: str = request.param
    return name


@pytest.mark.parametrize("library", ["bull3", "bull4"])
def test_a_pattern_without_a_zone_is_the_repeatable_of_real_bull(library, zone, redis, redis_url, queue_name):
    node = NodeProcess(library, server_of(redis_url), program="bull.js")
    node.call("add", queue=queue_name, opts={"repeat": {"cron": "30 7 * * *"}})
    theirs, keys = redis.zrange(key := f"bull:{queue_name}:repeat", 0, -1, withscores=True), redis.keys("*:repeat:*")
    subprocess.run([sys.executable, "-c", ADD_WITHOUT_ZONE, redis_url, queue_name], check=True, env=os.environ)
    assert [member for member, _ in theirs] == ["welcome::::30 7 * * *"]
    assert redis.zrange(key, 0, -1, withscores=True) == theirs and redis.keys("*:repeat:*") == keys
    node.kill()


REPEATS: list[dict[str, Any]] = [
    {"every": LATER},
    {"cron": "0 3 * * *"},
    {"cron": "0 3 * * *", "tz": "Europe/Paris"},
    {"every": LATER, "jobId": "order"},
    {"every": LATER, "endDate": 2_000_000_000_000},
]
OURS = {"cron": "pattern", "endDate": "end_date"}


def ours(repeat: dict[str, Any]) -> dict[str, Any]:
    return {OURS.get(name, name): value for name, value in repeat.items() if name != "jobId"}


@removing_bulls
@pytest.mark.parametrize("by", ["key", "options"])
def test_a_repeatable_is_removed_as_real_bull_removes_it(by, bull, old, redis):
    def added() -> list[str]:
        for repeat in REPEATS:
            id = {"jobId": repeat["jobId"]} if "jobId" in repeat else {}
            add(bull, old, repeat={name: value for name, value in repeat.items() if name != "jobId"}, **id)
        return sorted(one.key for one in old.get_repeatables())

    for repeat, key in zip(REPEATS, every := added(), strict=True):
        assert len(every) == len(REPEATS)
        if by == "key":
            bull.call("remove_repeatable", queue=old.name, key=key)
            expected = keys_of(redis, old)
            redis.delete(*redis.keys(old.to_key("*")))
            added()
            assert old.remove_repeatable(key) is True and old.remove_repeatable(key) is False
        else:
            bull.call("remove_repeatable", queue=old.name, name="welcome", repeat=repeat)
            expected = keys_of(redis, old)
            redis.delete(*redis.keys(old.to_key("*")))
            added()
            assert old.remove_repeatable("welcome", ours(repeat), job_id=repeat.get("jobId")) is True
        assert keys_of(redis, old) == expected and len(old.get_repeatables()) == len(REPEATS) - 1
        redis.delete(*redis.keys(old.to_key("*")))
        added()


@removing_bulls
def test_a_job_that_is_due_already_stays_as_with_real_bull(bull, old, redis):
    def due() -> str:
        add(bull, old, repeat={"every": LATER})
        [(pending, _)] = redis.zpopmin(old.to_key("delayed"))
        redis.lpush(old.to_key("wait"), pending)
        return old.get_repeatables()[0].key

    bull.call("remove_repeatable", queue=old.name, key=due())
    expected = read_state(redis, old.name)
    redis.delete(*redis.keys(old.to_key("*")))
    assert old.remove_repeatable(due())
    assert set(read_state(redis, old.name)) == set(expected)
    bull.call("work", queue=old.name)
    wait_until(lambda: old.get_job_counts("completed") == {"completed": 1}, "it has run")
    assert old.get_job_counts("delayed") == {"delayed": 0} and old.get_repeatables() == []


@named_bulls
def test_the_next_job_of_a_repeatable_is_not_removed_without_it(bull, old, redis):
    id = add(bull, old, repeat={"cron": "0 3 * * *"})
    [repeatable] = old.get_repeatables()
    with pytest.raises(SchedulerJobError, match=r"remove_repeatable\(.*0 3 \* \* \*.*\) removes both") as refused:
        old.remove(id)
    assert refused.value.code == -8 and old.get_job(id) is not None
    assert old.get_job_counts("delayed") == {"delayed": 1}
    assert old.remove_repeatable(repeatable.key)
    assert keys_of(redis, old) == {"id"} and old.remove(id) is False


@newest_bull
def test_the_job_of_a_repeatable_that_has_ended_is_removed(bull, old):
    bull.call("work", queue=old.name)
    add(bull, old, repeat={"every": 100, "limit": 1})
    wait_until(lambda: old.get_job_counts("completed") == {"completed": 1}, "it has run")
    [job] = old.get_jobs("completed")
    assert old.remove(job.id) is True and old.get_job(job.id) is None


def test_wrong_arguments_of_remove_repeatable_remove_nothing(redis_url, queue_name):
    with LegacyQueue(queue_name, url=redis_url, flavor="4") as queue:
        queue.add("welcome", repeat={"every": LATER})
        for wrong in (
            {"key": 7},
            {"key": "welcome", "job_id": "a"},
            {"key": "welcome", "repeat": {"cron": "* * * * *"}},
        ):
            with pytest.raises(InvalidOptionError):
                queue.remove_repeatable(**wrong)
        assert queue.remove_repeatable("welcome") is False and len(queue.get_repeatables()) == 1


def test_remove_repeatable_is_awaited_in_asyncio(redis_url, queue_name):
    async def remove() -> bool:
        async with bullrush.aio.LegacyQueue(queue_name, url=redis_url, flavor="4") as queue:
            await queue.add("welcome", repeat={"every": LATER})
            return await queue.remove_repeatable("welcome", {"every": LATER})

    assert asyncio.run(remove())


@pytest.mark.parametrize("library", NAMED)
def test_a_worker_of_bull_that_makes_the_next_job_meanwhile_keeps_no_repeatable(library, redis, redis_url, queue_name):
    node = NodeProcess(library, server_of(redis_url), program="bull.js")
    node.call("work", queue=queue_name)
    repeat = {"every": 50} if library != "bull30" else {"cron": "* * * * * *"}
    with LegacyQueue(queue_name, url=redis_url, flavor="4") as queue:
        node.call("add", queue=queue_name, opts={"repeat": repeat})
        wait_until(lambda: len(node.call("worked", queue=queue_name)) >= 2, "it runs again and again")
        [repeatable] = queue.get_repeatables()
        assert queue.remove_repeatable(repeatable.key)
        # A worker of Bull that has looked before may write it again: so it is with Bull itself.
        wait_until(lambda: not queue.remove_repeatable(repeatable.key), "it has gone")
    node.kill()
