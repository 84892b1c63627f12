"""Jobs that a worker of a route left behind when it died, and workers that serve a route as a plain queue."""

import base64
import logging
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Worker, _core
from tests.waiting import wait_until

SERVER: Any = {"server": "exec-1"}
MINUTE = 60_000


def leave_job(queue: Queue, redis_url: str, target: Any, **options: Any) -> None:
    """Add a job of a route and let a worker die while it runs it."""
    added = queue.add("left", target=target, **options)
    with Worker(added.queue_name, url=redis_url, lock_duration=300) as dying:
        assert dying.get_next_job("token") is not None


def test_a_running_job_of_a_dead_machine_waits_again(queue: Queue, redis_url: str, keeper: Any) -> None:
    leave_job(queue, redis_url, SERVER)
    wait_until(lambda: queue.route_status()[0].workers == 0, "Redis has seen that the connection is closed")
    [left] = queue.route_status()
    assert (left.waiting, left.active, left.oldest_age, left.unmatched) == (0, 1, None, True)
    reported: list[str] = []
    route = queue.route(SERVER)
    with keeper(stalled_interval=200) as one:
        one.on("stalled", reported.append)
        wait_until(lambda: f'route="{route.name}"}} 1' in one.export_prometheus_metrics())
        wait_until(lambda: route.get_waiting_count() == 1)
        wait_until(lambda: reported)
    assert reported == ["1"]
    [left] = queue.route_status()
    assert (left.waiting, left.active, left.unmatched) == (1, 0, True)


def test_the_fallback_applies_to_a_job_of_a_dead_machine(queue: Queue, redis_url: str, keeper: Any) -> None:
    leave_job(queue, redis_url, {**SERVER, "fallback_after": 1}, job_id="left")
    with keeper(stalled_interval=200):
        wait_until(lambda: queue.get_completed_count() == 1)
    [job] = queue.get_completed()
    assert (job.id, job.name, job.attempts_started) == ("left", "left", 2)


def test_no_keys_are_made_for_routes_whose_jobs_do_not_run(queue: Queue, redis: Redis, keeper: Any) -> None:
    queue.add("a", target=SERVER, timestamp=_core.now_ms() - 2 * MINUTE)
    reported: list[Any] = []
    with keeper(stalled_interval=50) as one:
        one.on("route_unmatched", lambda *arguments: reported.append(arguments))
        wait_until(lambda: redis.exists(queue.to_key("stalled-check")))
        wait_until(lambda: f'route="{queue.name}~srv.exec-1"}} 1' in one.export_prometheus_metrics())
    assert not redis.exists(queue.route(SERVER).to_key("stalled-check"))


def test_a_worker_without_a_stalled_check_leaves_running_jobs_alone(queue: Queue, redis_url: str, keeper: Any) -> None:
    leave_job(queue, redis_url, SERVER)
    with keeper(skip_stalled_check=True) as one:
        wait_until(lambda: "bullmq_route_unmatched{" in one.export_prometheus_metrics())
    assert queue.route(SERVER).get_active_count() == 1


@pytest.mark.parametrize("ending", ["", ":w:a:w:b"])
def test_a_plain_worker_of_a_route_serves_it(queue: Queue, redis_url: str, keeper: Any, ending: str) -> None:
    queue.add("a", target=SERVER, timestamp=_core.now_ms() - 2 * MINUTE)
    name = base64.b64encode(queue.route(SERVER).name.encode()).decode()
    with Redis.from_url(redis_url) as theirs:  # as Node names its connection
        theirs.client_setname(f"bull:{name}{ending}")
        [status] = queue.route_status()
        assert (status.waiting, status.workers, status.unmatched) == (1, 1, False)
        queue.add("b", target={"region": ["eu"]})
        with keeper() as one:
            wait_until(lambda: "bullmq_route_unmatched{" in one.export_prometheus_metrics())
            assert "srv.exec-1" not in one.export_prometheus_metrics()


def test_only_profiles_count_where_redis_does_not_list_connections(
    queue: Queue, redis: Redis, redis_url: str, queue_name: str
) -> None:
    queue.add("a", target=SERVER)
    redis.acl_setuser(queue_name, enabled=True, passwords=["+pw"], keys=["*"], commands=["+@all", "-client"])
    address = redis_url.replace("redis://", f"redis://{queue_name}:pw@", 1)
    try:
        with Worker(f"{queue_name}~srv.exec-1", lambda job: None, url=redis_url) as plain:
            plain.wait_until_ready()
            assert [route.workers for route in queue.route_status()] == [1]
            with Queue(queue_name, url=address) as limited:
                assert [route.workers for route in limited.route_status()] == [0]
    finally:
        redis.acl_deluser(queue_name)


def test_a_run_until_drained_says_that_it_waits_for_others(
    queue: Queue, worker: Callable[..., Worker], caplog: pytest.LogCaptureFixture
) -> None:
    queue.add("a", target=SERVER)
    one = worker(lambda job: None, profile={"server": "other"}, drain_delay=50)
    with caplog.at_level(logging.INFO, "bullrush"):
        assert one.run(until="drained", max_seconds=0.5).completed == 0
    text = f"waits for jobs in {queue.name}~srv.exec-1, which this worker does not match, until all are drained"
    assert [record.getMessage() for record in caplog.records].count(text) == 1
