"""The commands about routes: what waits for certain workers, and who may take it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from bullrush import Queue, Worker
from tests.waiting import wait_until

GPU = {"capabilities": ["gpu"]}


@pytest.fixture
def routed(queue: Queue) -> Iterator[Queue]:
    """Return a queue with a plain job, two for a GPU and one for Europe."""
    queue.add("n")
    for target in (GPU, GPU, {"region": ["eu"]}):
        queue.add("n", target=target)
    yield queue
    queue.obliterate(force=True)


@pytest.fixture
def gpu(routed: Queue, redis: Redis, redis_url: str) -> Iterator[Worker]:
    """Let a paused worker have a GPU."""
    routed.pause()
    with Worker(routed.name, lambda job: None, url=redis_url, profile=GPU, autorun=True) as worker:
        wait_until(lambda: redis.hlen(routed.to_key("ext:workers")))
        yield worker


@pytest.mark.usefixtures("gpu")
def test_routes_shows_what_waits_and_which_routes_nobody_serves(run: Callable, routed: Queue) -> None:
    found = run("routes", routed.name, "--json").json
    europe = found[1]
    assert [(one["queue"], one["target"], one["waiting"], one["workers"], one["unmatched"]) for one in found] == [
        (f"{routed.name}~cap.gpu", GPU, 2, 1, False),
        (f"{routed.name}~reg.eu", {"region": ["eu"]}, 1, 0, True),
    ]
    assert europe["oldest_age"] >= 0 and europe["active"] == 0
    ended = run("routes", routed.name)
    assert '{"capabilities":["gpu"]}' in ended.out
    assert ended.err == f"No worker takes the jobs of {routed.name}~reg.eu.\n"


def test_routes_of_a_route_names_its_base(run: Callable, routed: Queue) -> None:
    ended = run("routes", f"{routed.name}~cap.gpu")
    assert ended.code != 0 and f"ask Queue({routed.name!r})" in ended.err


@pytest.mark.usefixtures("gpu")
def test_info_counts_routes(run: Callable, routed: Queue, redis: Redis) -> None:
    for name, rate in ((routed.name, 1), (f"{routed.name}~cap.gpu", 6)):
        redis.lpush(f"bull:{name}:metrics:completed:data", rate)
    [info] = run("info", routed.name, "--json").json
    assert (info["routes"], info["counts"]["waiting"], info["workers"]) == (2, 4, 1)
    assert info["rates"] == {"completed": 7, "failed": None}
    ended = run("info", routed.name)
    assert f"{routed.name} +2 (paused)" in ended.out
    assert "--routes shows each" in ended.err
    alone = run("info", routed.name, "--routes", "--json").json
    assert {info["queue"]: info["counts"]["waiting"] for info in alone} == {
        routed.name: 1,
        f"{routed.name}~cap.gpu": 2,
        f"{routed.name}~reg.eu": 1,
    }
    twice = run("info", f"{routed.name}~cap.gpu", routed.name, "--routes", "--json").json
    assert sorted(info["queue"] for info in twice) == sorted(info["queue"] for info in alone)


def test_workers_shows_their_profiles(run: Callable, gpu: Worker, routed: Queue, redis: Redis) -> None:
    dead = {"dead": '{"profile":{},"ts":1}', "strange": "[]", "other": "{"}
    redis.hset(routed.to_key("ext:workers"), mapping=dead)
    assert run("workers", routed.name, "--profiles", "--json").json == {gpu.id: GPU} == routed.get_profiles()
    assert '{"capabilities":["gpu"]}' in run("workers", routed.name, "--profiles").out
    assert "has a profile" in run("workers", f"{routed.name}~cap.gpu", "--profiles").err


@pytest.mark.usefixtures("gpu")
def test_a_route_has_the_workers_whose_profile_matches(run: Callable, routed: Queue) -> None:
    route = f"{routed.name}~cap.gpu"
    [info] = run("info", route, "--json").json
    assert (info["workers"], info["counts"]["waiting"]) == (1, 2)
    ended = run("workers", route)
    assert ended.err == (
        f"No worker of {route!r} is connected. 1 of {routed.name!r} take its jobs, since their profile matches.\n"
    )


def test_all_queues_have_their_routes_in_their_lines(run: Callable, queue_name: str, redis_url: str) -> None:
    prefix = f"p-{queue_name}"
    queue = Queue("video", url=redis_url, prefix=prefix)
    queue.add("n", target=GPU)
    Queue("video~other", url=redis_url, prefix=prefix).add("n")  # nobody has registered this one

    def names(*words: str) -> list[str]:
        return [info["queue"] for info in run("info", "--prefix", prefix, "--json", *words).json]

    assert names() == ["video", "video~other"]
    assert names("--routes") == ["video~cap.gpu", "video~other"]
    queue.obliterate()
    Queue("video~other", url=redis_url, prefix=prefix).obliterate()


def test_an_unknown_queue_names_at_most_ten_others(run: Callable, queue_name: str, redis_url: str) -> None:
    prefix = f"p-{queue_name}"
    queues = [Queue(f"q{number}", url=redis_url, prefix=prefix) for number in range(12)]
    for queue in queues:
        queue.add("n")
    ended = run("counts", "zzzzzz", "--prefix", prefix)
    assert "There are: q0, q1, q10, q11, q2, q3, q4, q5, q6, q7 and 2 more" in ended.err
    for queue in queues:
        queue.obliterate()


def test_targets_and_profiles_are_whole_in_a_pipe(
    run: Callable, queue: Queue, redis: Redis, worker: Callable[..., Worker]
) -> None:
    has = {"capabilities": [f"cap-{number}" for number in range(15)]}
    target = {**has, "fallback": {"capabilities": ["cap-1"]}, "fallback_after": 60_000}
    queue.add("n", delay=60_000, target=target)
    worker(lambda job: None, profile=has, autorun=True)
    wait_until(lambda: redis.hlen(queue.to_key("ext:workers")))
    assert '"fallback":{"capabilities":["cap-1"]},"fallback_after":60000}' in run("routes", queue.name).out
    assert '"cap-9"]}' in run("workers", queue.name, "--profiles").out
