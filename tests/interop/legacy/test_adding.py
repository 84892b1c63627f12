"""Jobs that `LegacyQueue` adds are those that real Bull adds, and real Bull works them."""

import asyncio
import json
import time
from datetime import timedelta
from typing import Any

import pytest
from redis import Redis

from bullrush import LegacyQueue, aio
from bullrush.errors import InvalidOptionError, JobLockMismatchError, JobNotFoundError, JobStateError, LegacyQueueError
from tests.interop.conftest import NodeFleet
from tests.interop.sides.node_process import NodeProcess
from tests.waiting import wait_until

FLAVORS = {"bull1": "1", "bull2": "2", "bull30": "3", "bull3": "3", "bull4": "4"}
NOW = time.time_ns() // 1_000_000
DELAY = 3_600_000
READERS = {"string": "get", "hash": "hgetall"}

PLAIN: list[dict[str, Any]] = [
    {},
    {"lifo": True},
    {"delay": DELAY},
    {"delay": 0},
    {"attempts": 3, "backoff": {"type": "exponential", "delay": 500}, "timeout": 5000},
    {"delay": DELAY, "lifo": True, "attempts": 2},
]
#: Not with Bull 1.
PLACED: list[dict[str, Any]] = [
    *({"priority": priority} for priority in (3, 3, 1, 5, 1)),
    {"priority": 1, "lifo": True},
    {"delay": DELAY, "priority": 3},
    {"job_id": "order-1"},
    {"job_id": "order-1", "delay": DELAY},
    {"job_id": "order-2", "delay": DELAY, "remove_on_complete": True, "remove_on_fail": False},
]
#: With Bull 3 and 4.
TRACED: list[dict[str, Any]] = [{"stack_trace_limit": 3}]
#: With Bull 4.16.
DEBOUNCED: list[dict[str, Any]] = [
    {"debounce": {"id": "a", "ttl": DELAY}},
    {"debounce": {"id": "a", "ttl": DELAY}},
    {"delay": DELAY, "stack_trace_limit": 1, "debounce": {"id": "b"}},
    {"debounce": {"id": "b"}, "priority": 1},
    {"job_id": "order-1", "debounce": {"id": "c"}},
]
STORED = {
    "stack_trace_limit": "stackTraceLimit",
    "job_id": "jobId",
    "remove_on_complete": "removeOnComplete",
    "remove_on_fail": "removeOnFail",
}


@pytest.fixture(params=FLAVORS)
def library(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def bull(node_fleet: NodeFleet, library: str) -> NodeProcess:
    return node_fleet.get(library)


@pytest.fixture
def legacy(library, redis_url, queue_name):
    with LegacyQueue(queue_name, url=redis_url, flavor=FLAVORS[library]) as queue:
        yield queue


def dump(redis: Redis, queue_name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in redis.scan_iter(f"bull:{queue_name}:*", count=10_000):
        kind = redis.type(key)
        name = key.removeprefix(f"bull:{queue_name}:")
        if kind == "list":
            found[name] = redis.lrange(key, 0, -1)
        elif kind == "zset":
            found[name] = redis.zrange(key, 0, -1, withscores=True)
        else:
            found[name] = getattr(redis, READERS[kind])(key)
    return found


class Heard:
    """What is published about a queue, without the token of the producer."""

    def __init__(self, redis: Redis, queue_name: str) -> None:
        self._redis = redis
        self._end = f"end-{queue_name}"
        self._queue_name = queue_name
        self._channel = redis.pubsub(ignore_subscribe_messages=True)
        self._channel.psubscribe(f"*{queue_name}*")

    def read(self) -> list[tuple[str, str]]:
        """Return all messages since the last call."""
        self._redis.publish(self._end, "")
        messages = []
        while True:
            message = self._channel.get_message(timeout=5)
            if message is None:  # of the subscription
                continue
            channel, data = message["channel"], message["data"]
            if channel == self._end:
                return messages
            if channel.endswith(f"@{self._queue_name}"):  # of Bull 2: the token is in the message
                data = data.partition(",")[2]
            elif channel.endswith(":delayed"):  # with a fraction, or not
                data = str(int(float(data)))
            messages.append((channel if channel.endswith(self._queue_name) else channel.partition("@")[0], data))


def options(library: str, case: dict[str, Any]) -> dict[str, Any]:
    """The options as real Bull gets them."""
    return {STORED.get(name, name): value for name, value in case.items()}


def test_jobs_are_those_of_real_bull(bull, library, legacy, redis, queue_name):
    more = {"bull1": [], "bull2": PLACED, "bull4": [*PLACED, *TRACED, *DEBOUNCED]}.get(library, [*PLACED, *TRACED])
    cases = [{**case, "timestamp": NOW} for case in [*PLAIN, *more]]
    heard = Heard(redis, queue_name)
    heard.read()
    ids = [bull.call("add", queue=queue_name, data={"n": "ä"}, opts=options(library, case)) for case in cases]
    expected, published = dump(redis, queue_name), heard.read()
    redis.delete(*redis.keys(f"bull:{queue_name}:*"))
    jobs = [legacy.add("welcome", {"n": "ä"}, **case) for case in cases]
    found, ours = dump(redis, queue_name), heard.read()

    assert [job.id for job in jobs] == ids
    stored = {job.id: job.fields for job in jobs}
    assert all(found[id] == {name: value.decode() for name, value in stored[id].items()} for id in stored)
    if library == "bull30":  # 3.1 began to store the priority
        for job_id in {*ids}:
            found[job_id].pop("priority")
    assert found == expected
    # Version 4 publishes more than earlier ones: jobs with a priority, and ids that exist.
    more = [message for message in ours if message not in published]
    assert [message for message in ours if message not in more] == published
    assert not more or library in {"bull30", "bull3"}
    assert len(ours) == len(cases) * (2 if library == "bull2" else 1) - (library == "bull2")


REPEATABLES: list[dict[str, Any]] = [
    {"repeat": {"every": DELAY}},
    {"repeat": {"every": timedelta(hours=2), "limit": 3}, "attempts": 3, "backoff": 500},
    {"repeat": {"pattern": "0 3 * * *", "tz": "Europe/Paris"}, "priority": 2},
    {"repeat": {"pattern": "*/7 * * * *", "tz": "UTC", "end_date": NOW + 90 * 24 * DELAY}, "job_id": "order"},
    {"repeat": {"pattern": "0 0 1 1 *", "tz": "UTC", "start_date": NOW + 500 * 24 * DELAY}, "lifo": True},
    {"repeat": {"pattern": "30 4 * * *"}},
]
REPEAT = {"pattern": "cron", "start_date": "startDate", "end_date": "endDate"}


def repeat_options(case: dict[str, Any]) -> dict[str, Any]:
    """The options as real Bull gets them."""
    repeat = {REPEAT.get(name, name): value for name, value in case["repeat"].items()}
    if isinstance(repeat.get("every"), timedelta):
        repeat["every"] = round(repeat["every"].total_seconds() * 1000)
    return {**options("", case), "repeat": repeat}


def without_moment(state: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """A state without the time of the add, and the options of each job in their order."""
    stored = []
    for name, fields in sorted(state.items()):
        if name.startswith("repeat:"):
            opts = json.loads(fields.pop("opts"))
            assert opts.pop("delay") == int(fields.pop("delay")) and opts.pop("timestamp") == int(
                fields.pop("timestamp")
            )
            stored.append([(key, value) for key, value in opts.items() if key != "repeat"])
            stored.append(opts["repeat"])
    return state, stored


@pytest.mark.parametrize("library", ["bull3", "bull4"], indirect=True)
def test_repeatables_are_those_of_real_bull(bull, legacy, redis, queue_name):
    for case in REPEATABLES:
        bull.call("add", queue=queue_name, data={"n": "ä"}, opts=repeat_options(case))
    expected = dump(redis, queue_name)
    redis.delete(*redis.keys(f"bull:{queue_name}:*"))
    first = [legacy.add("welcome", {"n": "ä"}, **case) for case in REPEATABLES]
    found = dump(redis, queue_name)
    assert [job.id for job in first] == [legacy.get_job(job.id).id for job in first]
    assert without_moment(found) == without_moment(expected)


@pytest.mark.parametrize("library", ["bull3", "bull4"], indirect=True)
def test_real_bull_goes_on_with_a_repeatable(worker, legacy):
    legacy.add("welcome", {"n": 1}, repeat={"every": 200, "limit": 2})
    worked = worker()
    wait_until(lambda: len(worked()) == 2, "it has run twice")
    wait_until(lambda: legacy.get_job_counts("delayed") == {"delayed": 0}, "and no more")


def test_a_repeatable_that_cannot_be_is_refused(redis_url, queue_name, redis):
    with LegacyQueue(queue_name, url=redis_url, flavor="4") as queue:
        for wrong, reason in [
            ({"repeat": {"cron": "0 3 * * *"}}, "called pattern here"),
            ({"repeat": {"every": DELAY, "immediately": True}}, "Bull does not have it"),
            ({"repeat": {"every": DELAY}, "delay": 5}, "delay cannot be used with repeat"),
            ({"repeat": {"every": DELAY}, "debounce": {"id": "a"}}, "debounce cannot be used with repeat"),
            ({"repeat": {"every": DELAY, "limit": 0}}, "no time at which a job could run"),
            ({"repeat": {"every": DELAY, "end_date": NOW + 1000 * DELAY, "pattern": "x"}}, "Both .pattern and .every"),
            ({"repeat": {"pattern": "x"}}, "pattern"),
            ({"debounce": {"ttl": 5}}, "debounce.id is needed"),
            ({"stack_trace_limit": 0}, "stack_trace_limit"),
        ]:
            with pytest.raises(InvalidOptionError, match=reason):
                queue.add("welcome", **wrong)
    assert dump(redis, queue_name) == {}


@pytest.fixture
def worker(bull, queue_name):
    """Starts a worker of real Bull; returns the ids in the order in which it ran them, with the times."""

    def start() -> Any:
        bull.call("work", queue=queue_name)
        return lambda: bull.call("worked", queue=queue_name)

    yield start
    bull.call("close", queue=queue_name)


def test_real_bull_works_them(library, worker, legacy):
    plain = legacy.add("welcome", {"n": 1})
    first = legacy.add("welcome", {"n": 2}, lifo=True)
    expected = [first.id, plain.id]
    if library != "bull1":
        expected = [legacy.add("welcome", {"n": 3}, priority=3, job_id="urgent").id, *expected]
    worked = worker()
    wait_until(lambda: len(worked()) == len(expected), "the jobs that waited have run")
    assert [job_id for job_id, _ in worked()] == expected

    delayed = legacy.add("welcome", {"n": 4}, delay=300)
    assert delayed.timestamp
    wait_until(lambda: legacy.get_job_counts("completed")["completed"] == len(expected) + 1, "the delayed job has run")
    job_id, began = worked()[-1]
    assert job_id == delayed.id
    assert began >= delayed.timestamp + 300
    job = legacy.get_job(delayed.id)
    assert job.returnvalue == {"worked": 4}


def test_a_failed_job_is_retried(worker, legacy, redis):
    job = legacy.add("welcome", {"fail": "not today"}, attempts=2, backoff=1)
    worked = worker()
    wait_until(lambda: legacy.get_job_counts("failed")["failed"], "the job has failed")
    assert len(worked()) == 2
    legacy.retry(job.id)
    wait_until(lambda: len(worked()) == 3 and legacy.get_job_counts("failed")["failed"], "it has failed once more")
    failed = legacy.get_job(job.id)
    assert failed.attempts_made == 3
    assert "not today" in failed.failed_reason

    done = legacy.add("welcome", {"n": 1})
    wait_until(lambda: legacy.get_job_counts("completed")["completed"], "the other job is completed")
    with pytest.raises(JobStateError, match=f"Job {done.id} is not in the failed state"):
        legacy.retry(done.id)
    with pytest.raises(JobNotFoundError):
        legacy.retry("1000")
    redis.set(legacy.to_key(f"{job.id}:lock"), "token")
    with pytest.raises(JobLockMismatchError):
        legacy.retry(job.id)


def test_jobs_of_a_paused_queue_wait_apart(bull, worker, legacy, queue_name):
    bull.call("pause", queue=queue_name)
    job = legacy.add("welcome", {"n": 1})
    assert [one.id for one in legacy.get_jobs("paused")] == [job.id]
    worked = worker()
    bull.call("resume", queue=queue_name)
    wait_until(lambda: [job_id for job_id, _ in worked()] == [job.id], "the job has run")


@pytest.mark.parametrize("library", ["bull1", "bull2"], indirect=True)
def test_options_that_a_version_does_not_have_are_refused(library, legacy, redis):
    later = [{"stack_trace_limit": 3}, {"debounce": {"id": "a"}}, {"repeat": {"every": DELAY}}]
    refused = {
        "bull1": [{"priority": 1}, {"job_id": "a"}, {"remove_on_fail": True}, *later],
        "bull2": [{"remove_on_complete": 5}, *later],
    }
    for options in refused[library]:
        with pytest.raises(InvalidOptionError, match="Bull " + library[-1]):
            legacy.add("welcome", **options)
    assert dump(redis, legacy.name) == {}


def test_the_flavor_must_be_known(redis_url, queue_name, redis):
    with LegacyQueue(queue_name, url=redis_url) as queue:
        for call in (lambda: queue.add("welcome"), lambda: queue.retry("1")):
            with pytest.raises(LegacyQueueError, match="say which version of Bull"):
                call()
        assert dump(redis, queue_name) == {}
        opts = '{"attempts":1,"delay":0,"timestamp":5}'
        redis.hset(f"bull:{queue_name}:1", mapping={"name": "n", "data": "{}", "opts": opts})
        redis.lpush(f"bull:{queue_name}:wait", "1")
        redis.set(f"bull:{queue_name}:id", "1")
        assert queue.add("welcome").id == "2"


def test_a_job_is_added_and_retried_with_asyncio(redis, redis_url, queue_name):
    async def add() -> None:
        async with aio.LegacyQueue(queue_name, url=redis_url, flavor="4") as queue:
            job = await queue.add("welcome", None, delay=timedelta(hours=1))
            assert (job.id, job.name, job.data, job.delay) == ("1", "welcome", {}, DELAY)
            redis.zrem(queue.to_key("delayed"), job.id)
            redis.zadd(queue.to_key("failed"), {job.id: NOW})
            await queue.retry(job.id)
            assert [one.id for one in await queue.get_jobs("waiting")] == [job.id]

    asyncio.run(add())
