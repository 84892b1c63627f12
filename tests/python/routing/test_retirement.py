"""Routes end when nobody uses them, and come back when somebody does."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Worker, cli
from bullrush.errors import RedisServerError, RouteLimitError
from tests.waiting import wait_until

BOTH: Any = {"capabilities": ["cuda", "gpu"]}
PROFILE: Any = {"capabilities": ["cuda", "gpu"]}
LONG_AGO = 11 * 60_000


def pod(number: int) -> Any:
    return {"server": f"pod-{number}"}


def names(redis: Redis, queue: Queue, of: str) -> list[str]:
    found: Any = redis.hkeys(f"bull:{queue.name}:ext:{of}")
    return sorted(found)


def let_time_pass(redis: Redis, queue: Queue) -> None:
    """Make the last use of each route 11 minutes older."""
    base = f"bull:{queue.name}"
    times: dict[Any, Any] = redis.hgetall(f"{base}:ext:rseen")
    for slug, seen in times.items():
        redis.hset(f"{base}:ext:rseen", slug, int(seen) - LONG_AGO)
        stream = f"{base}~{slug}:events"
        newest: Any = redis.xrevrange(stream, count=1)
        if newest:
            redis.delete(stream)
            redis.xadd(stream, {"event": "old"}, id=f"{int(newest[0][0].split('-')[0]) - LONG_AGO}-0")


@contextmanager
def running(worker: Worker) -> Iterator[Worker]:
    thread = threading.Thread(target=worker.run, daemon=True)
    thread.start()
    yield worker
    worker.close()
    thread.join(10)
    assert not thread.is_alive()


def test_routes_of_machines_that_have_gone_make_room_although_no_worker_runs(queue: Queue, redis: Redis) -> None:
    for number in range(256):
        queue.add("a", target=pod(number)) if number < 3 else queue.route(pod(number)).wait_until_ready()
    with pytest.raises(RouteLimitError, match="256 routes that are in use"):
        queue.add("a", target=pod(256))
    let_time_pass(redis, queue)
    for number in range(256, 320):
        queue.add("a", target=pod(number))
    live = names(redis, queue, "routes")
    assert len(live) <= 256
    assert {f"srv.pod-{number}" for number in (0, 1, 2, *range(256, 320))} <= set(live), "those with jobs stay"


def test_one_call_with_several_new_targets_makes_room_for_all_of_them(queue: Queue, redis: Redis) -> None:
    for number in range(256):
        queue.route(pod(number)).wait_until_ready()
    let_time_pass(redis, queue)
    queue.add_bulk([{"name": "a", "opts": {"target": pod(number)}} for number in range(256, 266)])
    assert {f"srv.pod-{number}" for number in range(256, 266)} <= set(names(redis, queue, "routes"))


def test_routes_that_are_only_cleaned_make_room_and_leave_no_keys_when_they_have_ended(
    queue: Queue, redis: Redis
) -> None:
    for number in range(256):
        queue.route(pod(number)).wait_until_ready()
    let_time_pass(redis, queue)
    assert queue.clean(0, 0, "completed", routes=True) == []
    assert queue.route(pod(0)).clean(0, 0) == []
    queue.add("a", target=pod(256))
    ended = names(redis, queue, "retired")
    assert len(ended) >= 1
    assert queue.clean(0, 0, "completed", routes=True) == []
    assert [key for slug in ended for key in redis.scan_iter(f"bull:{queue.name}~{slug}:*")] == []


def test_more_machines_than_there_are_places_run_their_jobs_one_after_the_other(
    queue: Queue, redis: Redis, worker: Callable[..., Worker]
) -> None:
    for number in range(200):
        queue.route(pod(number)).wait_until_ready()
    for number in range(200, 300):
        queue.add("a", target=pod(number))
        assert worker(lambda job: None, profile=pod(number)).run(until="empty").completed == 1
        if number % 40 == 0:
            let_time_pass(redis, queue)
    assert len(names(redis, queue, "routes")) <= 256
    assert queue.get_job_counts("completed", routes=True) == {"completed": 100}


def test_a_worker_retires_what_nobody_uses_and_brings_back_what_another_program_uses(
    queue: Queue, redis: Redis, redis_url: str, keeper: Callable[..., Any]
) -> None:
    queue.route(BOTH).add("a")
    queue.route(pod(1)).wait_until_ready()
    queue.route(BOTH).obliterate(force=True)
    assert names(redis, queue, "routes") == ["srv.pod-1"]
    let_time_pass(redis, queue)
    with Queue(f"{queue.name}~cap.cuda+gpu", url=redis_url) as foreign:  # as Node does it: by the name
        foreign.add("a")
    with keeper():
        wait_until(lambda: names(redis, queue, "routes") == ["cap.cuda+gpu"])
        wait_until(lambda: names(redis, queue, "retired") == ["srv.pod-1"])


def test_a_job_of_a_program_that_does_not_register_is_run_although_the_route_had_retired(
    queue: Queue, redis: Redis, redis_url: str, worker: Callable[..., Worker]
) -> None:
    queue.route(BOTH).wait_until_ready()
    queue.route(BOTH).obliterate()
    with Queue(f"{queue.name}~cap.cuda+gpu", url=redis_url) as foreign:
        job = foreign.add("a")
        with running(worker(lambda job: "done", profile=PROFILE)):
            assert job.wait_until_finished(timeout=20_000) == "done"


def test_a_run_until_drained_sees_a_job_in_a_route_that_had_retired(
    queue: Queue, redis: Redis, redis_url: str, worker: Callable[..., Worker]
) -> None:
    queue.route(BOTH).wait_until_ready()
    with Queue(f"{queue.name}~cap.cuda+gpu", url=redis_url) as foreign:
        for _ in range(3):
            queue.route(BOTH).obliterate()
            foreign.add("a")
            assert worker(lambda job: None, profile=PROFILE).run(until="drained").completed == 1


def test_obliterate_of_a_route_frees_its_place_at_once(queue: Queue, redis: Redis) -> None:
    for number in range(256):
        queue.route(pod(number)).wait_until_ready()
    queue.route(pod(7)).add("a")
    queue.route(pod(7)).obliterate()
    queue.add("a", target=pod(256))
    assert len(names(redis, queue, "routes")) == 256
    with pytest.raises(RouteLimitError):
        queue.add("a", target=pod(7))
    queue.route(pod(8)).obliterate()
    job = queue.add("a", target=pod(7))
    assert redis.hget(f"bull:{job.queue_name}:meta", "version"), "the settings of a route come back with it"
    assert "srv.pod-7" in names(redis, queue, "routes")


def test_obliterate_by_the_name_of_its_queue_ends_a_route_as_well(queue: Queue, redis: Redis, redis_url: str) -> None:
    for number in range(3):
        queue.route(pod(number)).add("a")
    with Queue(f"{queue.name}~srv.pod-0", url=redis_url) as route:
        route.obliterate()
    assert cli.main(["obliterate", f"{queue.name}~srv.pod-1", "--yes", "--url", redis_url]) == 0
    assert names(redis, queue, "routes") == ["srv.pod-2"]


def test_obliterate_of_a_route_that_is_not_registered_needs_no_place(queue: Queue, redis: Redis) -> None:
    for number in range(256):
        queue.route(pod(number)).wait_until_ready()
    queue.route(pod(300)).obliterate()
    assert len(names(redis, queue, "routes")) == 256


def is_waited_for(redis: Redis, queue: Queue, of: str) -> bool:
    """Return whether the worker takes the marker of a queue, while it runs jobs of the base."""
    redis.zadd(f"bull:{of}:marker", {"0": 0})
    queue.add("a").wait_until_finished(timeout=10_000)
    return not redis.exists(f"bull:{of}:marker")


def test_a_worker_stops_to_wait_for_a_retired_route_and_runs_its_jobs_again_when_it_comes_back(
    queue: Queue, redis: Redis, worker: Callable[..., Worker]
) -> None:
    route = queue.route(BOTH)
    with running(worker(lambda job: "done", profile=PROFILE)):
        assert route.add("a").wait_until_finished(timeout=10_000) == "done"
        for _ in range(2):
            wait_until(lambda: is_waited_for(redis, queue, route.name))
            route.obliterate()
            wait_until(lambda: not is_waited_for(redis, queue, route.name))
            redis.delete(f"bull:{route.name}:marker")
            assert route.add("a").wait_until_finished(timeout=10_000) == "done"


@pytest.mark.parametrize("target", [BOTH, {"capabilities": ["gpu"]}])
def test_a_worker_does_nothing_for_a_retired_route(
    queue: Queue, redis: Redis, worker: Callable[..., Worker], target: Any
) -> None:
    route = queue.route(target)
    checks = [f"bull:{name}:stalled-check" for name in (route.name, queue.name)]

    def are_checked_again() -> list[bool]:
        redis.delete(*checks)
        wait_until(lambda: redis.exists(checks[1]) == 1)
        return [redis.exists(check) == 1 for check in checks]

    with running(worker(lambda job: "done", profile=PROFILE, stalled_interval=50)):
        assert route.add("a").wait_until_finished(timeout=10_000) == "done"
        wait_until(lambda: are_checked_again() == [True, True])
        route.obliterate()
        wait_until(lambda: [are_checked_again()[0] for _ in range(10)] == [False] * 10)
        assert route.add("a").wait_until_finished(timeout=10_000) == "done"
        wait_until(lambda: are_checked_again() == [True, True])


def test_a_worker_uses_the_place_of_a_lane_again(queue: Queue, redis: Redis, worker: Callable[..., Worker]) -> None:
    profile: Any = {"capabilities": ["gpu"], "region": ["eu"], "stack": [f"v{number}" for number in range(6)]}
    with running(worker(lambda job: job.data, profile=profile)):
        for number in range(6):
            route = queue.route({"capabilities": ["gpu"], "stack": [f"v{number}"]})
            jobs = [route.add("a", number), queue.add("a", -number)]
            assert [job.wait_until_finished(timeout=10_000) for job in jobs] == [number, -number]
            route.obliterate()
            if number % 2:  # the lane is closed by then
                wait_until(lambda: not is_waited_for(redis, queue, route.name))  # noqa: B023


def test_finished_jobs_of_retired_routes_are_counted_cleaned_and_removed(
    queue: Queue, redis: Redis, worker: Callable[..., Worker]
) -> None:
    for number in range(3):
        queue.add("a", target=pod(number))
        worker(lambda job: None, profile=pod(number)).run(until="empty")
    queue.add("a")
    let_time_pass(redis, queue)
    redis.hset(f"bull:{queue.name}:ext:routes", mapping={f"x.{n}": "{}" for n in range(253)})
    queue.route(pod(9)).wait_until_ready()
    assert names(redis, queue, "retired") == ["srv.pod-0", "srv.pod-1", "srv.pod-2"]
    assert queue.get_job_counts("completed", "waiting", routes=True) == {"completed": 3, "waiting": 1, "paused": 0}
    assert f'queue="{queue.name}~srv.pod-2", state="completed"}} 1' in queue.export_prometheus_metrics(routes=True)
    assert queue.route(pod(1)).get_completed_count() == 1
    assert queue.clean(0, 0, "completed", routes=True) == ["1", "1", "1"]
    assert queue.get_job_counts("completed", routes=True) == {"completed": 0}
    assert f"{queue.name}~srv.pod-2" not in queue.export_prometheus_metrics(routes=True)
    queue.obliterate()
    assert list(redis.scan_iter(f"bull:{queue.name}[:~]*")) == []


def test_a_pause_and_a_resume_leave_retired_routes_alone(queue: Queue, redis: Redis) -> None:
    queue.route(BOTH).wait_until_ready()
    queue.route(BOTH).obliterate()
    queue.pause()
    queue.resume()
    assert names(redis, queue, "retired") == ["cap.cuda+gpu"]
    assert list(redis.scan_iter(f"bull:{queue.name}~*")) == []


@pytest.mark.parametrize("name", ["routes", "retired"])
def test_obliterate_names_a_key_that_is_no_registry_before_it_writes_anything(
    queue: Queue, redis: Redis, name: str
) -> None:
    key = f"bull:{queue.name}:ext:{name}"
    queue.add("a")
    redis.rpush(key, "text")
    with pytest.raises(RedisServerError, match=f"{key} is not the hash") as caught:
        queue.obliterate()
    assert caught.value.code == "WRONGTYPE"
    assert not queue.is_paused()
    redis.delete(key)
    queue.obliterate()
    assert list(redis.scan_iter(f"bull:{queue.name}:*")) == []
