"""Queues of real Bull, BullMQ's predecessor, are refused before anything is written; queues of BullMQ's never are."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from bullrush import FlowProducer, Queue, QueueEvents, Worker
from bullrush.errors import LegacyQueueError
from tests.interop.conftest import server_of
from tests.interop.sides.node_process import NodeProcess
from tests.interop.sides.state import read_state
from tests.waiting import wait_until

BULLS = ["bull1", "bull11", "bull2", "bull30", "bull3", "bull4"]
STATES = ["waiting", "delayed", "active", "failed once", "finished", "paused", "paused and empty"]

USES: dict[str, Callable[..., object]] = {
    "Queue": lambda name, url: Queue(name, url=url).add("welcome"),
    "Worker": lambda name, url: Worker(name, lambda job: None, url=url).run(max_seconds=10),
    "FlowProducer": lambda name, url: FlowProducer(url=url).add({"name": "welcome", "queue_name": name}),
    "QueueEvents": lambda name, url: QueueEvents(name, url=url).wait_until_ready(),
}


@pytest.fixture
def bull(request: pytest.FixtureRequest, redis_url: str) -> Iterator[NodeProcess]:
    process = NodeProcess(request.param, server_of(redis_url), program="bull.js")
    yield process
    process.kill()


def key_space(redis: Redis, queue_name: str) -> dict[str, Any]:
    # The lock of an active job is renewed by its worker.
    return {key: value for key, value in read_state(redis, queue_name).items() if not key.endswith(":lock")}


@pytest.mark.parametrize("bull", BULLS, indirect=True)
def test_a_queue_of_bull_is_refused_by_every_class_whatever_its_state(bull, redis, redis_url, queue_name):
    states = [*STATES, *(["repeatable"] if bull.library[4:] >= "3" else [])]
    queues = {state: f"{queue_name}-{state.replace(' ', '-')}" for state in states}
    for state, name in queues.items():
        bull.call(state, queue=name)
    active = queues["active"]
    wait_until(lambda: redis.lrange(f"bull:{active}:active", 0, -1), "the job is active")
    assert_refused(redis, redis_url, active)
    bull.kill()
    for name in queues.values():
        redis.delete(*redis.keys(f"bull:{name}:*:lock"), "none")
        assert_refused(redis, redis_url, name)


OPTIONS: dict[str, dict[str, Any]] = {
    "its time": {"timestamp": 1_700_000_000_000},
    "a delay": {"delay": 3_600_000},
    "a time and a delay": {"timestamp": 1_700_000_000_000, "delay": 3_600_000},
    "attempts": {"attempts": 3, "backoff": 1_000},
    "a priority": {"priority": 2, "attempts": 2},
    "an id": {"jobId": "own"},
    "an interval": {"repeat": {"every": 3_600_000}, "attempts": 3},
    "debouncing": {"debounce": {"id": "a", "ttl": 60_000}},
}


@pytest.mark.parametrize("bull", ["bull30", "bull3", "bull4"], indirect=True)
def test_a_job_of_bull_shows_it_whatever_options_it_got(bull, redis, redis_url, queue_name):
    # Bull 3.0 has no intervals.
    cases = {given: opts for given, opts in OPTIONS.items() if bull.library != "bull30" or given != "an interval"}
    names = {given: f"{queue_name}-{given.replace(' ', '-')}" for given in cases}
    for given, name in names.items():
        bull.call("add", queue=name, opts=cases[given])
    bull.kill()
    for name in names.values():
        with pytest.raises(LegacyQueueError, match="has the options that Bull gives to each job"):
            Queue(name, url=redis_url).add("welcome")


def assert_refused(redis: Redis, redis_url: str, queue_name: str) -> None:
    before = key_space(redis, queue_name)
    for use in USES.values():
        with pytest.raises(LegacyQueueError, match="Bull") as refused:
            use(queue_name, redis_url)
        assert "allow_legacy" in str(refused.value)
    assert key_space(redis, queue_name) == before


BULLMQS: dict[str, Any] = {
    "fresh": [("queue", "waitUntilReady", [])],
    "paused": [("queue", "pause", []), ("queue", "add", ["welcome", {}])],
    "drained": [("queue", "add", ["welcome", {}]), ("queue", "drain", [])],
    "obliterated": [("queue", "add", ["welcome", {}]), ("queue", "obliterate", [{"force": True}])],
    "without its settings": [("bare", "add", ["welcome", {}])],
    "without events and marker": [("bare", "add", ["welcome", {}, {"attempts": 3}]), ("delete", "events", "marker")],
    "only delayed": [("bare", "add", ["welcome", {}, {"delay": 3_600_000}]), ("delete", "events", "marker")],
    "only a scheduler": [("queue", "upsertJobScheduler", ["nightly", {"pattern": "0 3 * * *"}]), ("delete", "meta")],
    "only a parent": [("flow",)],
    "first met by a worker": [("bare", "add", ["welcome", {}]), ("fetch",), ("delete", "events", "marker", "meta")],
}


THIN: dict[str, Any] = {
    "plain": ("add", ["welcome", {}]),
    "its time": ("add", ["welcome", {}, {"timestamp": 1_700_000_000_000}]),
    "its time and attempts": ("add", ["welcome", {}, {"timestamp": 1_700_000_000_000, "attempts": 3}]),
    "its time and a delay": ("add", ["welcome", {}, {"timestamp": 1_700_000_000_000, "delay": 3_600_000}]),
    "all of these": ("add", ["welcome", {}, {"timestamp": 1_700_000_000_000, "delay": 3_600_000, "attempts": 3}]),
    "a priority": ("add", ["welcome", {}, {"priority": 3, "timestamp": 1_700_000_000_000}]),
    "an id": ("add", ["welcome", {}, {"jobId": "attempts", "timestamp": 5}]),
    "many": ("addBulk", [[{"name": "welcome", "data": {}, "opts": {"timestamp": 1}}] * 5]),
    "cron": ("upsertJobScheduler", ["nightly", {"pattern": "0 3 * * *"}, {"opts": {"attempts": 3}}]),
    "every": ("upsertJobScheduler", ["hourly", {"every": 3_600_000}]),
    "old repeatable": ("add", ["welcome", {}, {"repeat": {"every": 3_600_000}, "attempts": 3}]),
    "old cron": ("add", ["welcome", {}, {"repeat": {"pattern": "0 3 * * *"}}]),
}


@pytest.mark.parametrize("kind", THIN)
def test_a_queue_of_bullmq_with_nothing_but_jobs_is_not_refused(kind, node_fleet, redis, redis_url, queue_name):
    """Its settings were skipped, its events trimmed, its markers popped, its priorities used up."""
    method, args = THIN[kind]
    for library in ("bullmq5", "bullmq6"):
        name = f"{queue_name}-{library}"
        node, at = node_fleet.get(library), {"db": 0, "prefix": "bull", "queue": name}
        node.call("queue", at=at, opts={"skipMetasUpdate": True}, method=method, args=args)
        redis.delete(*(f"bull:{name}:{suffix}" for suffix in ("events", "marker", "meta", "pc")))
        for use in ("Queue", "QueueEvents"):
            USES[use](name, redis_url)
        node.call("close", stem=name)


@pytest.mark.parametrize("steps", BULLMQS.values(), ids=[kind.replace(" ", "_") for kind in BULLMQS])
def test_a_queue_of_bullmq_is_never_refused(steps, node, redis, redis_url, queue_name):
    at = {"db": 0, "prefix": "bull", "queue": queue_name}
    for step, *arguments in steps:
        if step in {"queue", "bare"}:
            method, args = arguments
            opts = {"skipMetasUpdate": True} if step == "bare" else {}
            node.call("queue", at=at, opts=opts, method=method, args=args)
        elif step == "delete":
            redis.delete(*(f"bull:{queue_name}:{suffix}" for suffix in arguments))
        elif step == "flow":
            child = {"name": "child", "queueName": f"{queue_name}-children"}
            flow = {"name": "parent", "queueName": queue_name, "children": [child]}
            node.call("flows", at=at, method="add", args=[flow])
        else:
            assert node.call("fetch", at=at, worker={"lockDuration": 30_000}, token="t")
    for name in ("Queue", "FlowProducer", "QueueEvents"):
        USES[name](queue_name, redis_url)
    Worker(queue_name, lambda job: None, url=redis_url).run(max_seconds=0.2)
    node.call("close", stem=queue_name)


def test_a_queue_that_both_use_is_refused(redis, redis_url, queue_name):
    Queue(queue_name, url=redis_url).add("welcome")
    redis.set(f"bull:{queue_name}:meta-paused", "1")
    for use in USES.values():
        with pytest.raises(LegacyQueueError, match="Bull and BullMQ use this queue both"):
            use(queue_name, redis_url)


def test_a_queue_of_bull_can_be_used_by_those_who_say_so(redis, redis_url, queue_name):
    redis.set(f"bull:{queue_name}:meta-paused", "1")
    with Queue(queue_name, url=redis_url, allow_legacy=True) as queue:
        assert queue.add("welcome").id == "1"
    with FlowProducer(url=redis_url, allow_legacy=True) as flows:
        flows.add({"name": "welcome", "queue_name": queue_name})
    with Worker(queue_name, lambda job: None, url=redis_url, allow_legacy=True) as worker:
        assert worker.run(until="drained").completed == 2
    with QueueEvents(queue_name, url=redis_url, allow_legacy=True) as events:
        events.wait_until_ready()
