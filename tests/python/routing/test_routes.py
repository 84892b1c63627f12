"""The routes of a queue: queues of their own, known to workers by the registry."""

import asyncio
import gc
import pickle
from typing import Any

import pytest
from redis import Redis

import bullrush
from bullrush import Queue, aio
from bullrush.errors import (
    ClosedError,
    InvalidOptionError,
    RouteCollisionError,
    RouteLimitError,
)

GPU: bullrush.Target = {"capabilities": ["gpu"]}
GPU_ROUTE = '{"capabilities":["gpu"]}'


def registry(redis: Redis, queue: str) -> Any:
    return redis.hgetall(f"bull:{queue}:ext:routes")


def test_a_job_with_a_target_goes_to_its_route_only(queue: Queue, redis: Redis) -> None:
    job = queue.add("render", {"n": 1}, target=GPU, job_id="a")
    assert (job.queue_name, job.id) == (f"{queue.name}~cap.gpu", "a")
    assert job.get_state() == "waiting"
    assert queue.route(GPU).get_job("a") is not None
    assert queue.get_job("a") is None
    assert queue.get_job_counts("waiting") == {"waiting": 0, "paused": 0}
    assert registry(redis, queue.name) == {"cap.gpu": GPU_ROUTE}
    stored = redis.hget(f"bull:{queue.name}~cap.gpu:a", "opts")
    assert stored == '{"attempts":0,"jobId":"a"}'


def test_a_route_is_a_queue_and_one_object(queue: Queue) -> None:
    route = queue.route({"capabilities": ["gpu", "cuda12"], "region": ["eu"]})
    assert route.name == f"{queue.name}~cap.cuda12+gpu_reg.eu"
    assert isinstance(route, Queue)
    assert queue.route({"region": ["eu"], "capabilities": {"cuda12", "gpu"}}) is route  # type: ignore[typeddict-item]


def test_a_job_without_a_criterion_goes_to_the_base(queue: Queue, redis: Redis) -> None:
    assert queue.route({}) is queue
    assert queue.add("a", target={}).queue_name == queue.name
    assert queue.add("a", target=None).queue_name == queue.name
    assert queue.add("a", target={"stack": [], "mode": "each"}).queue_name == queue.name
    assert queue.get_waiting_count() == 3
    assert registry(redis, queue.name) == {}


def test_a_route_has_no_routes(queue: Queue) -> None:
    route = queue.route(GPU)
    for refused in (route, Queue(route.name, url=queue.opts["url"])):
        with pytest.raises(InvalidOptionError, match=rf"is a route.*its base, '{queue.name}'"):
            refused.route({"region": ["eu"]})
        with pytest.raises(InvalidOptionError, match="is a route"):
            refused.add("a", target={"region": ["eu"]})
        assert refused.route({}) is refused


def test_a_route_can_be_opened_by_its_name(queue: Queue) -> None:
    job = queue.add("a", target=GPU)
    with Queue(f"{queue.name}~cap.gpu", url=queue.opts["url"]) as route:
        assert [found.id for found in route.get_waiting()] == [job.id]


def test_an_invalid_target_adds_and_registers_nothing(queue: Queue, redis: Redis) -> None:
    with pytest.raises(InvalidOptionError, match="Did you mean 'capabilities'"):
        queue.add("a", target={"capability": ["gpu"]})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(InvalidOptionError, match="attempts"):
        queue.add("a", target=GPU, attempts=-1)
    assert list(redis.scan_iter(f"bull:{queue.name}[:~]*")) == []


def test_a_route_is_registered_without_a_job(queue: Queue, redis: Redis) -> None:
    queue.route(GPU).wait_until_ready()
    assert registry(redis, queue.name) == {"cap.gpu": GPU_ROUTE}
    assert queue.route(GPU).get_waiting_count() == 0


def test_a_target_whose_route_another_target_has_is_refused(queue: Queue, redis: Redis) -> None:
    redis.hset(
        queue.to_key("ext:routes"), "cap.a+b", '{"capabilities":["a+b"]}'
    )  # as a version before this one named it
    with pytest.raises(RouteCollisionError, match=r'\["a\+b"\]'):
        queue.add("a", target={"capabilities": ["a", "b"]})
    assert queue.route({"capabilities": ["a", "b"]}).get_waiting_count() == 0
    queue.add("a", target={"capabilities": ["a+b"]})


def test_a_queue_has_at_most_256_routes(queue: Queue, redis: Redis) -> None:
    full = {f"cap.{n}": f'{{"capabilities":["{n}"]}}' for n in range(256)}
    redis.hset(f"bull:{queue.name}:ext:routes", mapping=full)
    with pytest.raises(RouteLimitError, match="256 routes"):
        queue.add("a", target=GPU)
    assert not redis.exists(f"bull:{queue.name}~cap.gpu:wait")
    assert queue.add("a", target={"capabilities": ["7"]}).id == "1"


def test_a_route_of_a_paused_queue_is_paused(queue: Queue) -> None:
    queue.pause()
    queue.add("a", target=GPU)
    assert queue.route(GPU).is_paused()
    assert queue.route(GPU).get_job_counts("paused") == {"paused": 1}


def test_the_last_fallback_that_was_given_counts(queue: Queue, redis: Redis) -> None:
    def entry() -> Any:
        return registry(redis, queue.name)["cap.gpu"]

    queue.add("a", target={**GPU, "fallback_after": 500})
    assert entry() == GPU_ROUTE[:-1] + ',"fallback":"base","fallback_after":500}'
    queue.add("a", target=GPU)
    assert "500" in entry()
    queue.add("a", target={**GPU, "fallback_after": 900, "fallback": {"region": ["eu"]}})
    assert entry() == GPU_ROUTE[:-1] + ',"fallback":{"region":["eu"]},"fallback_after":900}'
    queue.add("a", target={**GPU, "fallback_after": 0})
    assert entry() == GPU_ROUTE
    assert queue.route(GPU).get_waiting_count() == 4


def test_a_route_that_was_pickled_registers_itself(queue: Queue, redis: Redis) -> None:
    route = pickle.loads(pickle.dumps(queue.route(GPU)))
    assert registry(redis, queue.name) == {}
    assert route.add("a").queue_name == f"{queue.name}~cap.gpu"
    assert registry(redis, queue.name) == {"cap.gpu": GPU_ROUTE}
    assert pickle.loads(pickle.dumps(queue)).add("a", target=GPU).id == "2"


def test_a_closed_queue_closes_its_routes(redis_url: str, queue_name: str) -> None:
    queue = Queue(queue_name, url=redis_url)
    route = queue.route(GPU)
    queue.close()
    with pytest.raises(ClosedError):
        route.add("a")
    with pytest.raises(ClosedError):
        queue.route(GPU)
    with pytest.raises(ClosedError):
        queue.add("a", target=GPU)


def test_listeners_of_the_queue_hear_of_its_targeted_jobs(queue: Queue) -> None:
    heard: list[Any] = []
    queue.on("waiting", heard.append)
    job = queue.add("a", target=GPU)
    assert heard == [job]


def test_coroutines_add_jobs_with_a_target(redis_url: str, queue_name: str) -> None:
    async def add() -> None:
        async with aio.Queue(queue_name, url=redis_url) as queue:
            jobs = await asyncio.gather(*(queue.add("a", target=GPU) for _ in range(20)))
            assert {job.queue_name for job in jobs} == {f"{queue_name}~cap.gpu"}
            assert await queue.route(GPU).get_waiting_count() == 20

    asyncio.run(add())


def test_a_default_target_is_refused_with_what_to_write(queue_name: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"Queue\(\.\.\.\)\.route\(target\)"):
        Queue(queue_name, default_job_options={"target": GPU})


def test_a_route_that_was_closed_is_opened_again_by_its_base(queue: Queue) -> None:
    with queue.route(GPU) as route:
        route.add("a")
    assert queue.add("b", target=GPU).queue_name == route.name
    assert queue.route(GPU).get_waiting_count() == 2
    with pytest.raises(ClosedError):
        route.add("c")


def test_a_queue_keeps_few_handles_of_routes_of_machines_that_have_gone(queue: Queue) -> None:
    kept = queue.route({"server": "kept"})
    for number in range(600):
        queue.route({"server": f"pod-{number}"})
    assert queue.route({"server": "kept"}) is kept
    gc.collect()
    assert len(queue._routes._handles) <= 513
    queue.close()
    assert kept.closing
