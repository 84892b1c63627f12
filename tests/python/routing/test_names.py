"""The names of routes: two targets are two routes, and a worker serves none that belongs to another target."""

from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Worker
from tests.waiting import wait_until

OTHER_GPU = '{"capabilities":["gpu"],"zone":"b"}'


@pytest.mark.parametrize(
    ("target", "other", "profile"),
    [
        ({"capabilities": ["a", "b"]}, {"capabilities": ["a+b"]}, {"capabilities": ["a+b"]}),
        ({"stack": ["py", "3"]}, {"stack": ["3+py"]}, {"stack": ["3+py"]}),
        ({"region": ["eu", "us"]}, {"region": ["eu+us"]}, {"region": ["eu+us"]}),
        ({"capabilities": ["c", "+"]}, {"capabilities": ["c++"]}, {"capabilities": ["c++"]}),
        ({"capabilities": ["c--.9966414683"]}, {"capabilities": ["c++"]}, {"capabilities": ["c++"]}),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_worker_runs_no_job_of_a_target_whose_words_join_to_its_own(
    queue: Queue, redis_url: str, target: Any, other: Any, profile: Any, first: bool
) -> None:
    """Nothing is refused: both targets have a route of their own."""
    targets = [target, other] if first else [other, target]
    jobs = {str(wanted): queue.add("n", target=wanted) for wanted in targets}
    assert len({job.queue_name for job in jobs.values()}) == 2
    ran: list[str] = []
    with Worker(queue.name, lambda job: ran.append(job.queue_name), url=redis_url, profile=profile) as worker:
        worker.run(until="empty")
    assert ran == [jobs[str(other)].queue_name]
    assert jobs[str(target)].get_state() == "waiting"


def test_a_worker_leaves_out_a_route_that_is_registered_for_another_target(
    queue: Queue, redis_url: str, redis: Redis
) -> None:
    """A newer version, for one, may know more about a target than this one."""
    redis.hset(queue.to_key("ext:routes"), "cap.gpu", OTHER_GPU)
    redis.set(queue.to_key("ext:rver"), 1)
    theirs = Queue(f"{queue.name}~cap.gpu", url=redis_url).add("theirs")
    queue.add("ours")
    ran: list[str] = []
    worker = Worker(queue.name, lambda job: ran.append(job.name), url=redis_url, profile={"capabilities": ["gpu"]})
    worker.run(until="empty")
    assert (ran, theirs.get_state()) == (["ours"], "waiting")
    redis.delete(queue.to_key("ext:routes"), queue.to_key("ext:rver"))
    worker.run(until="empty")
    assert ran == ["ours", "theirs"], "a route of a single word needs no registration"
    worker.close()


def test_a_worker_stops_serving_a_route_that_is_registered_for_another_target_and_serves_it_again(
    queue: Queue, redis_url: str, redis: Redis
) -> None:
    route = Queue(f"{queue.name}~cap.gpu", url=redis_url)
    ran: list[str] = []
    skipped: list[str] = []
    options: Any = {"profile": {"capabilities": ["gpu"]}, "autorun": True}
    with Worker(queue.name, lambda job: ran.append(job.name), url=redis_url, **options) as worker:
        worker.on("error", lambda error: skipped.append(str(error)))
        route.add("before")
        wait_until(lambda: ran == ["before"])
        redis.hset(queue.to_key("ext:routes"), "cap.gpu", OTHER_GPU)
        redis.incr(queue.to_key("ext:rver"))
        wait_until(lambda: any("skips route cap.gpu" in text for text in skipped))
        theirs = route.add("theirs")
        queue.add("of all")
        wait_until(lambda: ran == ["before", "of all"])
        assert theirs.get_state() == "waiting"
        redis.hset(queue.to_key("ext:routes"), "cap.gpu", '{"capabilities":["gpu"]}')
        redis.incr(queue.to_key("ext:rver"))
        wait_until(lambda: ran == ["before", "of all", "theirs"])
