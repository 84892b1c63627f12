"""Workers with profiles run the jobs of all routes that they match, and no others."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Worker
from tests.waiting import wait_until
from tests.watching import commands_about

GPU: Any = {"capabilities": ["gpu"]}
BOTH: Any = {"capabilities": ["gpu"], "region": ["eu"]}
US: Any = {"region": ["us"]}


@contextmanager
def running(*workers: Worker) -> Iterator[None]:
    threads = [threading.Thread(target=worker.run, daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.close()
        for thread in threads:
            thread.join(10)


class Seen:
    """A handler that notes the queues of its jobs."""

    def __init__(self) -> None:
        self.jobs: list[tuple[str, Any]] = []

    def __call__(self, job: Any) -> str:
        self.jobs.append((job.queue_name.partition("~")[2], job.data))
        return job.queue_name  # type: ignore[no-any-return]


def test_each_job_runs_where_its_target_matches(queue: Queue, worker: Callable[..., Worker]) -> None:
    seen = {name: Seen() for name in ("plain", "gpu", "eu")}
    targets = [None, GPU, BOTH, {"region": ["eu"]}, {"server": "exec-17"}, {"capabilities": ["*"]}]
    for _ in range(5):
        jobs = [{"name": "a", "data": n, "opts": {"target": target}} for n, target in enumerate(targets)]
        queue.add_bulk(jobs)  # type: ignore[arg-type]
    workers = [
        worker(seen["plain"]),
        worker(seen["gpu"], profile={"capabilities": ["gpu"], "region": ["eu"], "server": "exec-17"}, routes_only=True),
        worker(seen["eu"], profile={"region": ["eu"]}),
    ]
    with running(*workers):
        wait_until(lambda: queue.get_job_counts("completed", routes=True) == {"completed": 30})
    assert {data for _, data in seen["plain"].jobs} <= {0}
    assert {data for _, data in seen["gpu"].jobs} <= {1, 2, 3, 4, 5}
    assert {data for _, data in seen["eu"].jobs} <= {0, 3}
    assert {1, 2, 4, 5} <= {data for _, data in seen["gpu"].jobs}
    slugs = ["", "cap.gpu", "cap.gpu_reg.eu", "reg.eu", "srv.exec-17"]
    for one in seen.values():
        assert all(data == 5 or slug == slugs[data] for slug, data in one.jobs)


def test_a_route_that_is_first_used_while_workers_sleep_is_found(
    queue: Queue, worker: Callable[..., Worker], redis: Redis
) -> None:
    seen = Seen()
    with running(worker(seen, profile={"capabilities": ["gpu"], "region": ["eu"]})):
        wait_until(lambda: redis.hlen(f"bull:{queue.name}:ext:workers") == 1)
        queue.add("self", target=GPU)
        began = time.monotonic()
        wait_until(lambda: len(seen.jobs) == 1)
        assert time.monotonic() - began < 1.5, "a route with one criterion needs no registry"
        queue.add("new", target=BOTH)
        wait_until(lambda: len(seen.jobs) == 2, seconds=10)
    assert [slug for slug, _ in seen.jobs] == ["cap.gpu", "cap.gpu_reg.eu"]


def test_a_run_ends_when_the_base_and_all_matching_routes_are_done(queue: Queue, worker: Callable[..., Worker]) -> None:
    queue.add_bulk([{"name": "a", "opts": {"target": target}} for target in (None, GPU, BOTH, BOTH)])
    seen = Seen()
    profile = {"capabilities": ["gpu"], "region": ["eu"]}
    assert worker(seen, profile=profile).run(until="empty").completed == 4
    queue.add("later", target=BOTH, delay=300)
    assert worker(seen, profile=profile).run(until="drained").completed == 1


@pytest.mark.parametrize("autorun", [True, False])
def test_jobs_of_routes_retry_fail_and_report(queue: Queue, worker: Callable[..., Worker], autorun: bool) -> None:
    def handler(job: Any) -> None:
        if job.attempts_made == 0:
            raise ValueError("first")
        if job.name == "bad":
            raise ValueError("second")

    events: list[tuple[str, str, str]] = []
    one = worker(handler, profile=GPU, autorun=autorun)
    one.on("completed", lambda job, result: events.append(("completed", job.queue_name, job.name)))
    one.on("failed", lambda job, error: events.append(("failed", job.queue_name, job.name)))
    route = queue.route(GPU)
    jobs = [route.add(name, attempts=2, backoff=10) for name in ("good", "bad")]
    with running() if autorun else running(one):
        wait_until(lambda: [job.get_state() for job in jobs] == ["completed", "failed"])
        wait_until(lambda: len(events) == 4)
    assert sorted(events) == sorted(
        [
            ("failed", route.name, "good"),
            ("failed", route.name, "bad"),
            ("completed", route.name, "good"),
            ("failed", route.name, "bad"),
        ]
    )


@pytest.mark.parametrize("write", ["set", "hset", "sadd"])
def test_routes_are_found_whatever_the_version_of_the_registry_is(
    queue: Queue, worker: Callable[..., Worker], redis: Redis, write: str
) -> None:
    queue.add("a", target=BOTH)
    version = f"bull:{queue.name}:ext:rver"
    redis.delete(version)
    getattr(redis, write)(version, *{"set": ["text"], "hset": ["a", "b"], "sadd": ["a"]}[write])
    seen = Seen()
    with running(worker(seen, profile={"capabilities": ["gpu"], "region": ["eu"]})):
        wait_until(lambda: len(seen.jobs) == 1)
        wait_until(lambda: redis.hlen(f"bull:{queue.name}:ext:workers") == 1)


def test_a_worker_tells_its_profile_again_after_its_queue_was_removed(
    queue: Queue, worker: Callable[..., Worker], redis: Redis
) -> None:
    queue.add("a", target=US)
    workers = f"bull:{queue.name}:ext:workers"
    with running(worker(Seen(), profile=GPU)):
        wait_until(lambda: redis.hlen(workers) == 1)
        queue.obliterate(force=True)
        assert redis.hlen(workers) == 0
        began = time.monotonic()
        wait_until(lambda: redis.hlen(workers) == 1, seconds=15)
        assert time.monotonic() - began < 6, "not with the next heartbeat, after 10 s"


def test_an_idle_worker_of_many_routes_only_waits(queue: Queue, worker: Callable[..., Worker], redis: Redis) -> None:
    names = [f"c{number}" for number in range(20)]
    for name in names:
        queue.add("a", target={"capabilities": [name]})
    seen = Seen()

    with (
        running(worker(seen, profile={"capabilities": names}, drain_delay=200)),
        commands_about(queue.name, redis) as commands,
    ):
        wait_until(lambda: len(seen.jobs) == 20)
        wait_until(lambda: not redis.keys(f"bull:{queue.name}*:marker"))
        done = len(commands())
        wait_until(lambda: commands()[done:].count("BZPOPMIN") >= 3)
        before = len(commands())
        wait_until(lambda: commands()[before:].count("BZPOPMIN") >= 8)
        sent = commands()[before:]
        assert sent.count("LLEN") <= 30 * (sent.count("BZPOPMIN") + 1), "one look at each of its lanes after a wait"


def test_a_run_says_why_it_does_not_see_that_all_is_done(
    queue: Queue, worker: Callable[..., Worker], redis: Redis
) -> None:
    queue.add("a", target=US)
    key = f"bull:{queue.name}~reg.us:wait"
    redis.delete(key)
    redis.set(key, "text")
    reported: list[str] = []
    one = worker(Seen(), profile=GPU)
    one.on("error", lambda error: reported.append(str(error)))
    assert one.run(until="drained", max_seconds=1).completed == 0
    assert len([text for text in reported if text.startswith("cannot see whether all queues are drained")]) == 1
