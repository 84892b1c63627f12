"""`LegacyQueue` reads what real Bull wrote; the key space stays as it was."""

import asyncio

import pytest
from redis import Redis

from bullrush import LegacyQueue, Queue, aio
from bullrush.errors import InvalidOptionError, LegacyQueueError
from tests.interop.conftest import NodeFleet
from tests.interop.sides.node_process import NodeProcess
from tests.interop.sides.state import read_state
from tests.waiting import wait_until

FLAVORS = {"bull1": "1", "bull2": "2", "bull30": "3", "bull3": "3", "bull4": "4"}
#: What "auto" finds; a queue of Bull 1 has nothing that one of Bull 2 could not have, too.
#: What Bull 3 and 4 store as the options of a job.
OPTIONS = '{"attempts":1,"delay":0,"timestamp":5}'
FOUND = {"bull2": "2", "bull30": "4", "bull3": "4", "bull4": "4"}
NONE = dict.fromkeys(["waiting", "paused", "active", "delayed", "completed", "failed"], 0)


@pytest.fixture(params=FLAVORS)
def bull(request: pytest.FixtureRequest, node_fleet: NodeFleet) -> NodeProcess:
    return node_fleet.get(request.param)


@pytest.fixture
def flavor(request: pytest.FixtureRequest, bull: NodeProcess) -> str:
    return FLAVORS[request.node.callspec.params["bull"]]


def test_waiting_jobs_are_read_in_the_order_in_which_they_run(bull, flavor, redis, redis_url, queue_name):
    bull.call("waiting", queue=queue_name)
    before = read_state(redis, queue_name)
    with LegacyQueue(queue_name, url=redis_url) as queue:
        assert queue.get_job_counts() == {**NONE, "waiting": 2}
        assert queue.get_job_counts("waiting", "failed") == {"waiting": 2, "failed": 0}
        first, second = queue.get_jobs("waiting")
        assert [first.id, second.id] == ["1", "2"]
        assert [job.id for job in queue.get_jobs("waiting", 1, 1)] == ["2"]
        assert [job.id for job in queue.get_jobs("waiting", 0, 0)] == ["1"]
        assert not queue.is_paused()
        assert not queue.get_repeatables()
        job = queue.get_job("1")
        assert queue.get_job("3") is None
    assert job.data == {"n": 1}
    assert job.name == ("welcome" if flavor >= "3" else None)
    assert job.timestamp == int(redis.hget(f"bull:{queue_name}:1", "timestamp"))
    assert (job.attempts, job.attempts_made, job.delay, job.priority, job.progress) == (1, 0, 0, 0, 0)
    assert (job.returnvalue, job.failed_reason, job.stacktrace, job.finished_on) == (None, None, [], None)
    assert read_state(redis, queue_name) == before


@pytest.mark.parametrize("state", ["waiting", "paused", "delayed", "completed", "failed"])
def test_the_state_of_a_job_is_read(state, bull, flavor, redis_url, queue_name):
    bull.call(
        {"delayed": "failed once", "completed": "finished", "failed": "finished"}.get(state, state), queue=queue_name
    )
    with LegacyQueue(queue_name, url=redis_url, flavor=flavor) as queue:
        for job in queue.get_jobs(state):
            assert queue.get_job_state(job.id) == state
        assert queue.get_jobs(state) and queue.get_job_state("99") == "unknown"


@pytest.mark.parametrize("bull", ["bull3", "bull4"], indirect=True)
def test_the_log_of_a_job_is_read(bull, flavor, redis_url, queue_name):
    bull.call("logged", queue=queue_name)
    with LegacyQueue(queue_name, url=redis_url, flavor=flavor) as queue:
        assert queue.get_job_logs("1") == ["first", "second"]
        assert queue.get_job_logs("1", -1) == ["second"] and queue.get_job_logs("2") == []


def test_a_job_that_failed_once_is_delayed(bull, flavor, redis_url, queue_name):
    bull.call("failed once", queue=queue_name)
    with LegacyQueue(queue_name, url=redis_url, flavor=flavor) as queue:
        assert queue.get_job_counts() == {**NONE, "delayed": 1}
        [job] = queue.get_jobs("delayed")
    assert (job.attempts, job.attempts_made) == (3, 1)
    assert job.failed_reason == ("not yet" if flavor >= "2" else "Error: not yet")
    assert len(job.stacktrace) == 1
    assert job.opts["backoff"] == {"type": "fixed", "delay": 3_600_000}


def test_finished_jobs_are_read_from_sets_and_sorted_sets(bull, flavor, redis_url, queue_name):
    bull.call("finished", queue=queue_name)
    with LegacyQueue(queue_name, url=redis_url) as queue:
        assert queue.get_job_counts() == {**NONE, "completed": 1, "failed": 1}
        [completed] = queue.get_jobs("completed")
        [failed] = queue.get_jobs("failed")
        assert queue.get_jobs("failed", 1) == []
    assert completed.returnvalue == 5
    assert failed.attempts_made == 1
    assert (failed.finished_on is not None) == (flavor >= "3")


def test_a_paused_queue_has_its_jobs_in_another_list(bull, redis_url, queue_name):
    bull.call("paused", queue=queue_name)
    with LegacyQueue(queue_name, url=redis_url) as queue:
        assert queue.is_paused()
        assert queue.get_job_counts() == {**NONE, "paused": 1}
        assert [job.id for job in queue.get_jobs("paused")] == ["1"]


@pytest.mark.parametrize("bull", ["bull30", "bull3", "bull4"], indirect=True)
def test_repeatable_jobs_are_read(bull, redis, redis_url, queue_name):
    bull.call("repeatable", queue=queue_name)
    with LegacyQueue(queue_name, url=redis_url) as queue:
        [repeatable] = queue.get_repeatables()
    assert (repeatable.name, repeatable.pattern, repeatable.every) == ("welcome", "0 0 * * *", None)
    assert repeatable.next == redis.zscore(f"bull:{queue_name}:repeat", repeatable.key)
    redis.zadd(f"bull:{queue_name}:repeat", {repeatable.key: "inf"})
    with LegacyQueue(queue_name, url=redis_url) as queue:
        assert [one.next for one in queue.get_repeatables()] == [0], "a time that cannot be is no error"


@pytest.mark.parametrize("state", ["waiting", "delayed", "failed once", "finished", "paused"])
@pytest.mark.parametrize("bull", FOUND, indirect=True)
def test_the_flavor_is_found_out(bull, state, request, redis_url, queue_name):
    if (bull.library, state) == ("bull2", "failed once"):
        pytest.skip("Bull 1.1 stores the same")
    bull.call(state, queue=queue_name)
    with LegacyQueue(queue_name, url=redis_url) as queue:
        assert queue.get_flavor() == FOUND[request.node.callspec.params["bull"]]


@pytest.mark.parametrize("bull", ["bull11", "bull2"], indirect=True)
@pytest.mark.parametrize("state", ["failed once", "active"])
def test_a_job_that_bull_1_1_has_run_is_read_and_moves(bull, state, redis, redis_url, queue_name):
    bull.call(state, queue=queue_name)
    if state == "active":
        at = f"bull:{queue_name}:active"
        wait_until(lambda: redis.hget(f"bull:{queue_name}:1", "lockAcquired"), "its worker has locked it")
        redis.rpoplpush(at, f"bull:{queue_name}:wait")
        bull.kill()
    place = "delayed" if state == "failed once" else "waiting"
    flavor = "1" if bull.library == "bull11" else "2"
    with (
        LegacyQueue(queue_name, url=redis_url, flavor=flavor) as old,
        Queue(queue_name, url=redis_url, prefix="moved") as new,
    ):
        assert old.get_flavor() == flavor and old.get_job_counts(place) == {place: 1}
        assert old.migrate(new).moved == {place: 1}


@pytest.mark.parametrize("bull", FLAVORS, indirect=True)
def test_an_empty_queue_that_is_paused_tells_the_flavor_by_its_settings(bull, request, redis_url, queue_name):
    bull.call("paused and empty", queue=queue_name)
    with LegacyQueue(queue_name, url=redis_url) as queue:
        assert queue.is_paused()
        if request.node.callspec.params["bull"] in {"bull3", "bull4"}:
            assert queue.get_flavor() == "4"
        else:
            with pytest.raises(LegacyQueueError, match=r'meta-paused exists\): .* flavor="1" or "2" or "3" or "4"'):
                queue.get_flavor()


@pytest.mark.parametrize("bull", ["bull1"], indirect=True)
def test_a_set_of_priorities_tells_bull_2(bull, redis, redis_url, queue_name):
    bull.call("finished", queue=queue_name)
    redis.zadd(f"bull:{queue_name}:priority", {"7": 1})
    with LegacyQueue(queue_name, url=redis_url) as queue:
        assert queue.get_flavor() == "2"


@pytest.mark.parametrize("others", [("2", "3"), ()], ids=["read with whole ones", "alone with a sorted set"])
def test_a_job_of_bull_3_that_has_lost_its_name_does_not_tell_another_flavor(others, redis, redis_url, queue_name):
    at = f"bull:{queue_name}:"
    redis.hset(at + "1", mapping={"data": "{}", "opts": "{}"})
    redis.rpush(at + "wait", "1", *others)
    for id in others:
        redis.hset(at + id, mapping={"name": "welcome", "data": "{}", "opts": OPTIONS})
    if not others:
        redis.zadd(at + "completed", {"9": 5})
    for given in ("auto", "3", "4"):
        with LegacyQueue(queue_name, url=redis_url, flavor=given) as queue:
            assert queue.get_flavor() == given.replace("auto", "4")
    with LegacyQueue(queue_name, url=redis_url, flavor="2") as queue, pytest.raises(LegacyQueueError, match="is wrong"):
        queue.get_flavor()


def test_a_set_tells_an_old_bull_whatever_its_jobs_look_like(redis, redis_url, queue_name):
    at = f"bull:{queue_name}:"
    redis.rpush(at + "wait", "1", "2")
    redis.hset(at + "1", mapping={"name": "welcome", "data": "{}", "opts": OPTIONS})
    redis.hset(at + "2", mapping={"data": "{}", "opts": "{}", "failedReason": ""})
    redis.sadd(at + "failed", "3")
    with LegacyQueue(queue_name, url=redis_url) as queue:
        assert queue.get_flavor() == "2"


@pytest.mark.parametrize("bull", ["bull1"], indirect=True)
def test_the_flavor_of_bull_1_must_be_given(bull, redis_url, queue_name):
    bull.call("waiting", queue=queue_name)
    with LegacyQueue(queue_name, url=redis_url) as queue:
        with pytest.raises(LegacyQueueError, match=r'Bull 1 or 2 .* flavor="1" or "2"'):
            queue.get_flavor()
        assert queue.get_job_counts("waiting") == {"waiting": 2}
    with LegacyQueue(queue_name, url=redis_url, flavor="1") as queue:
        assert queue.get_flavor() == "1"


def test_a_wrong_flavor_is_refused(bull, flavor, redis, redis_url, queue_name):
    bull.call("waiting", queue=queue_name)
    before = read_state(redis, queue_name)
    wrong = "1" if flavor >= "3" else "4"
    with LegacyQueue(queue_name, url=redis_url, flavor=wrong) as queue:
        for call in (queue.get_flavor, queue.get_job_counts, queue.is_paused, lambda: queue.get_job("1")):
            with pytest.raises(LegacyQueueError, match=f'flavor="{wrong}" is wrong'):
                call()
    assert read_state(redis, queue_name) == before


def test_a_queue_of_bullmq_is_refused(redis: Redis, redis_url, queue_name):
    Queue(queue_name, url=redis_url).add("welcome")
    for flavor in ("auto", "4"):
        with pytest.raises(LegacyQueueError, match=r"belongs to BullMQ .* bullrush\.Queue"):
            LegacyQueue(queue_name, url=redis_url, flavor=flavor).get_job_counts()
    redis.set(f"bull:{queue_name}:meta-paused", "1")
    with pytest.raises(LegacyQueueError, match="both: .*meta-paused exists"):
        LegacyQueue(queue_name, url=redis_url, flavor="4").get_job_counts()


def test_a_queue_of_bull_that_bullmq_opened_by_mistake_is_refused(redis: Redis, redis_url, queue_name):
    with LegacyQueue(queue_name, url=redis_url, flavor="4") as queue:
        queue.add("welcome")
    Queue(queue_name, url=redis_url, allow_legacy=True).pause()
    with pytest.raises(LegacyQueueError, match="both: job .*:1 has the options that Bull gives"):
        LegacyQueue(queue_name, url=redis_url).get_job_counts()


def test_an_empty_queue_can_be_read_and_its_flavor_must_be_given(redis_url, queue_name):
    with LegacyQueue(queue_name, url=redis_url) as queue:
        assert queue.get_job_counts() == NONE
        assert queue.get_jobs("completed") == []
        with pytest.raises(LegacyQueueError, match='flavor="1" or "2" or "3" or "4"'):
            queue.get_flavor()
        with pytest.raises(InvalidOptionError, match="Did you mean 'waiting'"):
            queue.get_jobs("wait")
    for flavor in ("3", 3):
        with LegacyQueue(queue_name, url=redis_url, flavor=flavor) as queue:
            assert queue.get_flavor() == "3"
    for wrong in ("5", 5, True, 3.0):
        with pytest.raises(InvalidOptionError, match="flavor must be one of"):
            LegacyQueue(queue_name, url=redis_url, flavor=wrong)


def test_every_call_can_be_awaited(redis: Redis, redis_url, queue_name):
    redis.sadd(f"bull:{queue_name}:completed", *range(1, 1201))

    async def read() -> None:
        async with aio.LegacyQueue(queue_name, url=redis_url, flavor="2") as queue:
            assert await queue.get_flavor() == "2"
            assert (await queue.get_job_counts())["completed"] == 1200
            assert await queue.get_jobs("completed") == [], "their hashes are missing"
            assert await queue.get_job("1") is None
            assert await queue.get_repeatables() == []

    asyncio.run(read())
