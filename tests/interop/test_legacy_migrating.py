"""A queue of real Bull moves to BullMQ: nothing is lost, nothing changes, and real BullMQ finishes all."""

from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from bullrush import LegacyQueue, Queue
from tests.waiting import wait_until

from .conftest import server_of
from .live import TheirQueue
from .node_process import NodeProcess
from .state import differences, read_state

BULLS = ["bull1", "bull2", "bull30", "bull3", "bull4"]
NAMED = ["bull30", "bull3", "bull4"]
LATER = 3_600_000

every_bull = pytest.mark.parametrize("bull", BULLS, indirect=True)
named_bulls = pytest.mark.parametrize("bull", NAMED, indirect=True)
newest_bull = pytest.mark.parametrize("bull", ["bull4"], indirect=True)


@pytest.fixture(scope="session")
def bulls(redis_url: str) -> Iterator[dict[str, NodeProcess]]:
    """One process per version of Bull."""
    processes: dict[str, NodeProcess] = {}
    yield processes
    for process in processes.values():
        process.kill()


@pytest.fixture
def bull(request: pytest.FixtureRequest, bulls: dict[str, NodeProcess], redis_url: str) -> NodeProcess:
    if request.param not in bulls:
        bulls[request.param] = NodeProcess(request.param, server_of(redis_url), program="bull.js")
    return bulls[request.param]


@pytest.fixture
def old(queue_name: str, redis_url: str, bull: NodeProcess) -> Iterator[LegacyQueue]:
    with LegacyQueue(queue_name, url=redis_url, flavor=flavor_of(bull)) as queue:
        yield queue
    bull.call("close", queue=queue_name)


@pytest.fixture
def new(queue_name: str, redis_url: str) -> Iterator[Queue]:
    with Queue(f"{queue_name}-new", url=redis_url) as queue:
        yield queue


def flavor_of(bull: NodeProcess) -> Any:
    return bull.library.removeprefix("bull")[0]


def add(bull: NodeProcess, queue: LegacyQueue, data: Any = None, **opts: Any) -> str:
    id: str = bull.call("add", queue=queue.name, data=data or {}, opts=opts)
    return id


def finish_all(redis: Redis, node: NodeProcess, queue: Queue) -> list[str]:
    """Let real BullMQ work the queue off; return the ids in the order in which they ran."""
    TheirQueue(node, queue.name).work()
    entries = redis.xrange(queue.to_key("events"))
    return [fields["jobId"] for _, fields in entries if fields["event"] == "active"]


def keys_of(redis: Redis, queue: LegacyQueue) -> set[str]:
    return {key.removeprefix(f"bull:{queue.name}:") for key in redis.keys(f"bull:{queue.name}:*")}


@every_bull
def test_waiting_jobs_run_in_their_order(bull, old, new, redis, node_fleet):
    before = [add(bull, old, {"n": n}, lifo=n == 3) for n in range(5)]
    order = redis.lrange(old.to_key("wait"), 0, -1)[::-1]
    raw = {id: redis.hget(old.to_key(id), "data") for id in before}
    report = old.migrate(new)
    assert (report.moved, report.left, report.notes) == ({"waiting": 5}, [], [])
    assert {id: redis.hget(new.to_key(id), "data") for id in before} == raw
    assert new.add("next").id == "6"
    assert finish_all(redis, node_fleet.get("bullmq5"), new) == [*order, "6"]
    assert new.get_job_counts("completed") == {"completed": 6}
    assert old.cleanup(new) > 0
    assert keys_of(redis, old) == set()
    assert not redis.exists(new.to_key("ext:migration"))


@every_bull
def test_a_moved_job_is_a_job_of_bullmq(bull, old, new, redis, node_fleet):
    """The keys are those of a job that BullMQ added itself; only options that mean nothing to it are missing."""
    opts = {"attempts": 3, "backoff": {"type": "exponential", "delay": 500}, "removeOnComplete": True}
    add(bull, old, {"n": 1}, **opts)
    add(bull, old, {"n": 2}, delay=LATER, **opts)
    jobs = [old.get_job(id) for id in ("1", "2")]
    old.migrate(new, default_name="welcome")
    theirs = TheirQueue(node_fleet.get("bullmq5"), f"{old.name}-like")
    for job in jobs:
        theirs.add("welcome", job.data, **opts, timestamp=job.timestamp, delay=job.delay)
    actual, expected = (view(read_state(redis, name)) for name in (new.name, f"{old.name}-like"))
    assert list(differences(expected, actual)) == []


def view(state: dict[str, Any]) -> dict[str, Any]:
    """Return what has to be equal."""
    for entry in state.values():
        if entry["type"] == "hash" and "opts" in entry["value"]:
            for dropped in ("delay", "timestamp"):
                entry["value"]["opts"].pop(dropped, None)
    state["delayed"]["value"] = {id: int(score) // 4096 for id, score in state["delayed"]["value"].items()}
    state["marker"]["value"] = {member: int(score) for member, score in state["marker"]["value"].items()}
    return {key: entry for key, entry in state.items() if key != "ext:migration"}


@every_bull
def test_all_states_move_and_everything_is_worked(bull, old, new, redis, node_fleet):
    bull.call("work", queue=old.name)
    add(bull, old, {"n": 7})
    add(bull, old, {"fail": "no"})
    retried = add(bull, old, {"fail": "not yet"}, attempts=3, backoff=LATER)
    wait_until(lambda: old.get_job_counts()["completed"] == 1 and old.get_job_counts()["failed"] == 1, "two finished")
    wait_until(lambda: old.get_job_counts()["delayed"] == 1, "one is retried later")
    bull.call("close", queue=old.name)
    bull.call("pause", queue=old.name)
    waiting = add(bull, old, {"n": 8})
    delayed = add(bull, old, {"n": 9}, delay=LATER)
    report = old.migrate(new, history=10)
    assert report.moved == {"paused": 1, "delayed": 2, "completed": 1, "failed": 1}
    assert (report.left, report.after) == ([], dict.fromkeys(report.after, 0))
    assert new.is_paused()
    jobs = {id: new.get_job(id) for id in ("1", "2", retried, waiting, delayed)}
    assert (jobs["1"].returnvalue, jobs["1"].attempts_made) == ({"worked": 7}, 1)
    assert (jobs["2"].failed_reason, jobs["2"].attempts_made) == ("no", 1)
    assert (jobs[retried].attempts_made, jobs[retried].opts["attempts"]) == (1, 3)
    assert len(jobs[retried].stacktrace) == 1
    assert {new.get_job_state(id) for id in (retried, delayed)} == {"delayed"}
    assert not redis.hexists(new.to_key(retried), "attemptsMade")
    new.resume()
    assert finish_all(redis, node_fleet.get("bullmq5"), new) == [waiting]
    assert old.verify(new).complete
    old.cleanup()
    assert keys_of(redis, old) == set()
