"""Flows and job schedulers whose jobs have targets."""

from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from bullrush import FlowProducer, Queue, Worker
from bullrush.errors import InvalidOptionError, RouteCollisionError, RouteLimitError

GPU: Any = {"capabilities": ["gpu"]}
EU: Any = {"region": ["eu"]}


@pytest.fixture
def flows(redis_url: str) -> Iterator[FlowProducer]:
    with FlowProducer(url=redis_url) as flows:
        yield flows


def keys(redis: Redis, queue: Queue) -> list[str]:
    return [key for key in redis.scan_iter(f"bull:{queue.name}[:~]*") if not key.startswith(f"bull:{queue.name}:meta")]


def test_each_job_of_a_flow_goes_to_its_queue(flows: FlowProducer, queue: Queue, redis: Redis, redis_url: str) -> None:
    children: Any = [
        {"name": "gpu", "queue_name": queue.name, "opts": {"target": GPU}},
        {"name": "eu", "queue_name": queue.name, "opts": {"target": EU, "job_id": "e"}},
        {"name": "base", "queue_name": queue.name, "opts": {"target": {}}},
    ]
    tree = flows.add({"name": "root", "queue_name": queue.name, "opts": {"target": GPU}, "children": children})
    found = [tree.job, *(child.job for child in tree.children)]
    assert [job.queue_name.removeprefix(queue.name) for job in found] == ["~cap.gpu", "~cap.gpu", "~reg.eu", ""]
    assert set(redis.hkeys(f"bull:{queue.name}:ext:routes")) == {"cap.gpu", "reg.eu"}
    assert tree.job.get_state() == "waiting-children"
    for name in (f"{queue.name}~cap.gpu", f"{queue.name}~reg.eu", queue.name):
        Worker(name, lambda job: job.name, url=redis_url).run(until="empty")
    assert tree.job.get_state() == "waiting"
    assert set(tree.job.get_children_values().values()) == {"gpu", "eu", "base"}
    read = flows.get_flow(id=tree.job.id, queue_name=tree.job.queue_name)
    assert read is not None
    assert {child.job.queue_name for child in read.children} == {job.queue_name for job in found[1:]}


@pytest.mark.parametrize(
    ("place", "target", "message"),
    [
        ("{}", {"capability": ["gpu"]}, "child 1 of 'root': target has no option 'capability'"),
        ("{}~reg.us", GPU, "child 1 of 'root': .* is a route, which has no routes"),
    ],
)
def test_a_flow_with_a_wrong_target_adds_and_registers_nothing(
    flows: FlowProducer, queue: Queue, redis: Redis, place: str, target: Any, message: str
) -> None:
    child: Any = {"name": "c", "queue_name": place.format(queue.name), "opts": {"target": target}}
    with pytest.raises(InvalidOptionError, match=message):
        flows.add({"name": "root", "queue_name": queue.name, "opts": {"target": EU}, "children": [child]})
    assert keys(redis, queue) == []


def test_a_flow_with_a_route_that_another_target_has_adds_no_job(
    flows: FlowProducer, queue: Queue, redis: Redis
) -> None:
    redis.hset(
        queue.to_key("ext:routes"), "cap.a+b", '{"capabilities":["a+b"]}'
    )  # as a version before this one named it
    names: Any = [["c"], ["a", "b"], ["b", "a"]]
    children: Any = [
        {"name": "c", "queue_name": queue.name, "opts": {"target": {"capabilities": capabilities}}}
        for capabilities in names
    ]
    with pytest.raises(RouteCollisionError):
        flows.add({"name": "root", "queue_name": queue.name, "children": children})
    assert [key for key in keys(redis, queue) if not key.endswith(("ext:routes", "ext:rseen", "ext:rver"))] == []


def test_a_flow_of_a_queue_with_256_routes_adds_no_job(flows: FlowProducer, queue: Queue, redis: Redis) -> None:
    full = {f"cap.{n}": f'{{"capabilities":["{n}"]}}' for n in range(256)}
    redis.hset(f"bull:{queue.name}:ext:routes", mapping=full)
    with pytest.raises(RouteLimitError):
        flows.add_bulk([{"name": "a", "queue_name": queue.name, "opts": {"target": GPU}}])
    assert sorted(keys(redis, queue)) == [f"bull:{queue.name}:ext:{name}" for name in ("routes", "rseen")]


def test_a_scheduler_with_a_target_belongs_to_the_route(queue: Queue, redis: Redis, redis_url: str) -> None:
    job = queue.upsert_job_scheduler("s", {"every": 60_000}, {"name": "a", "opts": {"target": GPU, "priority": 3}})
    assert job is not None
    assert job.queue_name == f"{queue.name}~cap.gpu"
    assert redis.hkeys(f"bull:{queue.name}:ext:routes") == ["cap.gpu"]
    assert queue.get_job_schedulers() == []
    [scheduler] = queue.route(GPU).get_job_schedulers()
    assert scheduler["template"]["opts"] == {"priority": 3}
    Worker(job.queue_name, lambda job: None, url=redis_url).run(max_jobs=1)
    assert queue.route(GPU).get_delayed_count() == 1
    assert queue.get_delayed_count() == 0


def test_the_schedulers_of_a_route_register_it(queue: Queue, redis: Redis) -> None:
    job = queue.route(GPU).job_scheduler.upsert_job_scheduler("s", {"every": 60_000})
    assert job is not None
    assert job.queue_name == f"{queue.name}~cap.gpu"
    assert redis.hkeys(f"bull:{queue.name}:ext:routes") == ["cap.gpu"]


def test_a_scheduler_object_takes_a_target(queue: Queue) -> None:
    schedulers = queue.job_scheduler
    job = schedulers.upsert_job_scheduler("s", {"every": 60_000}, {"opts": {"target": EU}})
    assert job is not None
    assert job.queue_name == f"{queue.name}~reg.eu"
    template = {"opts": {"target": {"capability": ["a"]}}}
    with pytest.raises(InvalidOptionError, match="'capabilities'"):
        schedulers.upsert_job_scheduler("s", {"every": 60_000}, template)  # type: ignore[arg-type]
