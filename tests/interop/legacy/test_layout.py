"""What docs/bull-layout.md says about the workers of Bull 1.0 is what real Bull 1.0.0 does."""

import json
import time
from itertools import pairwise
from typing import Any

import pytest
from redis import Redis

from tests.waiting import wait_until

pytestmark = pytest.mark.parametrize("bull", ["bull1"], indirect=True)
HOUR = 3_600_000
NOW = time.time_ns() // 1_000_000


@pytest.fixture
def at(bull: Any, redis: Redis, queue_name: str):
    yield lambda key: f"bull:{queue_name}:{key}"
    bull.call("close", queue=queue_name)


def promote(redis: Redis, at: Any, *ids: str) -> None:
    """Let delayed jobs be due now."""
    redis.zadd(at("delayed"), {id: number for number, id in enumerate(ids)}, xx=True)
    redis.publish(at("delayed"), 0)


def test_a_delayed_job_goes_to_wait_even_while_the_queue_is_paused(bull, at, redis, queue_name):
    ids = [bull.call("add", queue=queue_name, opts={"delay": HOUR}) for _ in range(2)]
    bull.call("pause", queue=queue_name)
    promote(redis, at, *ids)
    wait_until(lambda: redis.lrange(at("wait"), 0, -1) == ids[::-1], "both are promoted, the first one first")
    assert redis.exists(at("meta-paused")) and not redis.exists(at("paused"))


def test_a_lock_lasts_5_seconds_and_is_renewed_in_half_of_its_time(bull, at, redis, queue_name):
    bull.call("work", queue=queue_name)
    id = bull.call("add", queue=queue_name, data={"hang": True})
    wait_until(lambda: redis.pttl(at(f"{id}:lock")) > 0, "it is locked")
    seen: list[int] = []
    wait_until(lambda: seen.append(redis.pttl(at(f"{id}:lock"))) or seen[-1] > min(seen), "the lock is renewed")
    assert max(seen) <= 5_000
    assert all(before > 1_000 for before, after in pairwise(seen) if after > before), "not later"


def test_a_job_that_stalled_runs_where_it_stands(bull, at, redis, queue_name):
    id = bull.call("add", queue=queue_name, data={"hang": True})
    redis.rpoplpush(at("wait"), at("active"))  # popped, and the worker died
    bull.call("work", queue=queue_name)
    wait_until(lambda: bull.call("worked", queue=queue_name), "another worker runs it")
    assert redis.lrange(at("active"), 0, -1) == [id] and redis.exists(at(f"{id}:lock"))
    assert not redis.exists(at("wait"))


def test_a_failure_is_kept_as_a_stack_trace_and_its_backoff_grows_by_powers_of_two_less_one(
    bull, at, redis, queue_name
):
    bull.call("work", queue=queue_name)
    backoff = {"type": "exponential", "delay": HOUR}
    id = bull.call("add", queue=queue_name, data={"fail": "no"}, opts={"attempts": 3, "backoff": backoff})
    for failures, factor in ((1, 1), (2, 3)):
        began = time.time() * 1000
        wait_until(lambda: (redis.zscore(at("delayed"), id) or 0) > NOW * 4096, "it waits for its next attempt")
        due = redis.zscore(at("delayed"), id) / 4096
        assert 0 <= due - began - factor * HOUR < 60_000
        fields = redis.hgetall(at(id))
        assert fields["attemptsMade"] == str(failures) and "failedReason" not in fields
        assert [trace.splitlines()[0] for trace in json.loads(fields["stacktrace"])] == ["Error: no"] * failures
        promote(redis, at, id)
    wait_until(lambda: redis.smembers(at("failed")) == {id}, "it has failed for good, in a set")
