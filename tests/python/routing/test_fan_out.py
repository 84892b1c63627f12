"""Calls of a queue that are for its routes as well."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import FlowProducer, Queue, Worker, aio
from bullrush.errors import BullrushError, RedisServerError
from tests.waiting import wait_until

GPU: Any = {"capabilities": ["gpu"]}
EU: Any = {"region": ["eu"]}


@pytest.fixture
def routed(queue: Queue) -> Queue:
    """Return a queue with a job at the base and two routes."""
    queue.add_bulk([{"name": "a", "opts": {"target": target}} for target in (None, GPU, EU, EU)])
    return queue


def test_a_queue_is_paused_and_resumed_with_its_routes(routed: Queue) -> None:
    heard: list[str] = []
    routed.on("paused", lambda: heard.append("paused"))
    routed.on("resumed", lambda: heard.append("resumed"))
    parts = (routed, routed.route(GPU), routed.route(EU))
    routed.pause()
    assert [part.is_paused() for part in parts] == [True] * 3
    assert routed.route(EU).get_job_counts("paused") == {"paused": 2}
    routed.pause()
    routed.resume()
    assert [part.is_paused() for part in parts] == [False] * 3
    assert heard == ["paused", "paused", "resumed"]


def test_a_route_is_paused_alone(routed: Queue) -> None:
    routed.route(GPU).pause()
    assert [routed.is_paused(), routed.route(GPU).is_paused(), routed.route(EU).is_paused()] == [False, True, False]


def test_a_route_that_is_refused_does_not_keep_the_others_from_being_paused(routed: Queue, redis: Redis) -> None:
    redis.rename(f"bull:{routed.name}~cap.gpu:wait", f"bull:{routed.name}~cap.gpu:old")
    redis.set(f"bull:{routed.name}~cap.gpu:paused", "text")
    with pytest.raises((RedisServerError, BullrushError)):
        routed.pause()
    assert routed.route(EU).is_paused()
    redis.delete(f"bull:{routed.name}~cap.gpu:paused")
    routed.pause()
    assert routed.route(GPU).is_paused()


def test_counts_include_the_routes_if_asked(routed: Queue) -> None:
    assert routed.get_job_counts("waiting", "active") == {"waiting": 1, "active": 0, "paused": 0}
    assert routed.get_job_counts("waiting", "active", routes=True) == {"waiting": 4, "active": 0, "paused": 0}
    assert routed.get_job_counts(routes=True)["waiting"] == 4
    assert routed.route(EU).get_job_counts("waiting", routes=True)["waiting"] == 2


def test_a_queue_is_drained_with_its_routes(routed: Queue) -> None:
    routed.add("later", target=GPU, delay=60_000)
    routed.drain()
    assert routed.get_job_counts("waiting", "delayed", routes=True) == {"waiting": 0, "delayed": 1, "paused": 0}
    routed.drain(delayed=True)
    assert routed.get_job_counts("delayed", routes=True) == {"delayed": 0}


def test_a_queue_is_removed_with_its_routes_and_their_registry(routed: Queue, redis: Redis) -> None:
    redis.hset(f"bull:{routed.name}:ext:workers", "old", "{}")
    routed.obliterate()
    assert list(redis.scan_iter(f"bull:{routed.name}[:~]*")) == []
    routed.add("a", target=GPU)
    assert redis.hkeys(f"bull:{routed.name}:ext:routes") == ["cap.gpu"]


def test_nothing_is_removed_while_a_job_of_a_route_is_active(routed: Queue, redis: Redis) -> None:
    taken = Worker(routed.route(GPU).name, url=routed.opts["url"])
    job = taken.get_next_job("token")
    assert job is not None
    with pytest.raises(BullrushError, match="Cannot obliterate queue with active jobs"):
        routed.obliterate()
    assert routed.get_job_counts("paused", "active", routes=True) == {"paused": 3, "active": 1}
    routed.obliterate(force=True)
    assert list(redis.scan_iter(f"bull:{routed.name}[:~]*")) == []
    taken.close()


def test_workers_of_routes_are_workers_of_the_queue(routed: Queue, worker: Any) -> None:
    route = routed.route(GPU).name
    one = worker(lambda job: None, name="base", autorun=True)
    two = Worker(route, lambda job: None, url=routed.opts["url"], name="route", autorun=True)
    try:
        wait_until(lambda: routed.get_workers_count() == 2)
        found = {client["name"]: client["rawname"].rpartition(":")[2] for client in routed.get_workers()}
        assert found == {routed.name: "base", route: "route"}
        assert [client["name"] for client in routed.route(GPU).get_workers()] == [route]
    finally:
        one.close()
        two.close()


def test_an_entry_whose_name_is_no_queue_is_skipped(routed: Queue, redis: Redis) -> None:
    redis.hset(f"bull:{routed.name}:ext:routes", mapping={"a:b": "{}", "": "{}", "\n": "{}"})
    routed.pause()
    assert routed.route(GPU).is_paused()


def test_coroutines_pause_and_count_with_routes(redis_url: str, queue_name: str) -> None:
    async def use() -> None:
        async with aio.Queue(queue_name, url=redis_url) as queue:
            await queue.add_bulk([{"name": "a", "opts": {"target": GPU}}, {"name": "b"}])
            await queue.pause()
            assert await queue.route(GPU).is_paused()
            assert await queue.get_job_counts("paused", routes=True) == {"paused": 2}
            await queue.obliterate()
            assert await queue.get_job_counts("paused", routes=True) == {"paused": 0}

    asyncio.run(use())


def test_the_metrics_of_a_queue_have_lines_for_its_routes(routed: Queue, redis_url: str) -> None:
    with Worker(f"{routed.name}~cap.gpu", lambda job: None, url=redis_url, metrics={"max_data_points": 5}) as worker:
        worker.run(until="drained")
    names = (routed.name, f"{routed.name}~cap.gpu", f"{routed.name}~reg.eu")
    lines = routed.export_prometheus_metrics({"env": "e"}, oldest_job=True, routes=True).splitlines()
    waiting = [line for line in lines if 'state="waiting"' in line]
    assert waiting == [
        f'bullmq_job_count{{queue="{name}", state="waiting", env="e"}} {count}'
        for name, count in zip(names, (1, 0, 2), strict=True)
    ]
    completed = [line for line in lines if line.startswith("bullmq_job_completed_total{")]
    assert [line[-1] for line in completed] == ["0", "1", "0"]
    assert [line.startswith("# TYPE") for line in lines].count(True) == 4
    ages = {line.split('"')[1]: float(line.split()[-1]) for line in lines if line.startswith("bullmq_oldest_due_job")}
    assert list(ages) == list(names)
    assert [age > 0 for age in ages.values()] == [True, False, True]
    assert "~" not in routed.export_prometheus_metrics()


def flow(queue: Queue, parent: Any, child: Any) -> None:
    FlowProducer(url=queue._url).add(
        {
            "name": "parent",
            "queue_name": queue.name,
            "opts": {"target": parent},
            "children": [{"name": "child", "queue_name": queue.name, "opts": {"target": child}} for _ in range(2)],
        }
    )


@pytest.mark.parametrize(("parent", "child"), [(None, GPU), (GPU, EU), (EU, GPU), (GPU, None)], ids=str)
def test_drain_removes_a_parent_whose_children_are_in_another_route(queue: Queue, parent: Any, child: Any) -> None:
    flow(queue, parent, child)
    queue.drain()
    assert not any(queue.get_job_counts(routes=True).values())


@pytest.mark.parametrize(("parent", "child"), [(None, GPU), (GPU, EU), (EU, GPU), (GPU, None)], ids=str)
def test_obliterate_leaves_no_parent_whose_children_are_in_another_route(
    queue: Queue, redis: Redis, parent: Any, child: Any
) -> None:
    flow(queue, parent, child)
    queue.obliterate(force=True)
    assert redis.keys(f"bull:{queue.name}*") == []


@pytest.mark.parametrize("targets", [(None, GPU, EU), (EU, GPU, None), (GPU, EU, GPU)], ids=str)
def test_obliterate_leaves_nothing_of_a_flow_of_three_levels(queue: Queue, redis: Redis, targets: Any) -> None:
    top, middle, low = [{"name": "n", "queue_name": queue.name, "opts": {"target": target}} for target in targets]
    with FlowProducer(url=queue._url) as flows:
        flows.add({**top, "children": [{**middle, "children": [low, low]}, middle]})  # type: ignore[typeddict-item]
    queue.obliterate()
    assert redis.keys(f"bull:{queue.name}*") == []


def test_obliterate_leaves_nothing_of_flows_whose_parents_a_worker_runs_meanwhile(
    queue: Queue, redis: Redis, worker: Callable[..., Worker]
) -> None:
    target: Any = {"capabilities": ["gpu", "ssd"]}
    queue.route(target).wait_until_ready()
    queue.route(EU).wait_until_ready()
    running = worker(lambda job: None, profile={**target, **EU}, autorun=True)
    for _ in range(5):
        top = {"name": "top", "queue_name": queue.name, "opts": {"target": target}}
        low = {"name": "low", "queue_name": queue.name, "opts": {"target": EU, "delay": 10_000_000}}
        with FlowProducer(url=queue._url) as flows:
            flows.add_bulk([{**top, "children": [{**top, "children": [low]}]}] * 3)  # type: ignore[list-item]
        queue.obliterate(force=True)
    running.close()
    queue.obliterate(force=True)
    assert redis.keys(f"bull:{queue.name}*") == []


def test_a_parent_that_obliterate_leaves_runs_in_a_worker_that_starts_later(
    queue: Queue, worker: Callable[..., Worker], redis_url: str
) -> None:
    target: Any = {"capabilities": ["gpu", "ssd"]}
    with FlowProducer(url=redis_url) as flows, Queue(f"{queue.name}-other", url=redis_url) as other:
        child = {"name": "child", "queue_name": other.name}
        flow: Any = {"name": "parent", "queue_name": queue.name, "opts": {"target": target}, "children": [child]}
        flows.add(flow)
        queue.obliterate(force=True)
        ran: list[str] = []
        worker(lambda job: ran.append(job.name), profile=target, autorun=True)
        Worker(other.name, lambda job: None, url=redis_url).run(until="drained")
        wait_until(lambda: ran == ["parent"])
