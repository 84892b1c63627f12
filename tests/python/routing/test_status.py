"""What waits in the routes of a queue, who may take it, and where it goes if nobody does."""

import asyncio
import json
import logging
from typing import Any

import pytest
from redis import Redis

from bullrush import FlowProducer, Queue, Worker, _core, aio
from bullrush.errors import InvalidOptionError
from tests.waiting import wait_until

GPU: Any = {"capabilities": ["gpu"]}
EU: Any = {"region": ["eu"]}
MINUTE = 60_000


def add_old(queue: Queue, *jobs: str, target: Any = GPU, age: int = 2 * MINUTE, **options: Any) -> None:
    """Add jobs as if that was a while ago."""
    for name in jobs:
        queue.add(name, {"of": name}, target=target, timestamp=_core.now_ms() - age, **options)


def test_a_queue_without_routes_has_no_status(queue: Queue) -> None:
    assert queue.route_status() == []


def test_the_status_counts_what_may_run_and_who_may_run_it(queue: Queue, redis: Redis, keeper: Any) -> None:
    add_old(queue, "a", age=5000)
    add_old(queue, "b", priority=3, age=9000)
    add_old(queue, "c", delay=7000, age=14_000)
    queue.add("later", target=GPU, delay=MINUTE)
    queue.add("d", target=EU)
    queue.route(EU).pause()
    fallback = {"server": "s", "fallback_after": MINUTE, "fallback": GPU}
    done = queue.add("e", target=fallback)  # type: ignore[arg-type]
    done.remove()
    names = {field: f"{queue.name}~{field}" for field in ("cap.gpu", "reg.eu", "srv.s")}
    with keeper(profile=EU):
        wait_until(lambda: redis.hlen(f"bull:{queue.name}:ext:workers") == 1)
        gpu, eu, server = queue.route_status()
    assert (gpu.queue, gpu.target, gpu.waiting, gpu.workers, gpu.unmatched) == (names["cap.gpu"], GPU, 3, 0, True)
    assert gpu.oldest_age is not None
    assert 9000 <= gpu.oldest_age < 14_000
    assert (eu.queue, eu.waiting, eu.workers, eu.unmatched) == (names["reg.eu"], 1, 1, False)
    assert (server.queue, server.target, server.waiting) == (names["srv.s"], fallback, 0)
    assert (server.oldest_age, server.unmatched) == (None, False)


def test_a_worker_that_is_dead_or_strange_does_not_count(queue: Queue, redis: Redis) -> None:
    queue.add("a", target=GPU)
    redis.hset(
        f"bull:{queue.name}:ext:workers",
        mapping={
            "dead": json.dumps({"profile": GPU, "ts": _core.now_ms() - 31_000}),
            "strange": "x",
            "old": json.dumps({"profile": {"capabilities": "gpu"}, "ts": _core.now_ms()}),
        },
    )
    assert [route.workers for route in queue.route_status()] == [0]
    redis.hset(f"bull:{queue.name}:ext:workers", "live", json.dumps({"profile": GPU, "ts": _core.now_ms()}))
    assert [route.workers for route in queue.route_status()] == [1]


def test_an_entry_of_another_version_is_left_out(queue: Queue, redis: Redis) -> None:
    queue.add("a", target=GPU)
    redis.hset(f"bull:{queue.name}:ext:routes", "cap.x", '{"capabilities":["x"],"zone":1}')
    assert [route.queue for route in queue.route_status()] == [f"{queue.name}~cap.gpu"]


def test_a_route_has_no_routes(queue: Queue) -> None:
    with pytest.raises(InvalidOptionError, match=rf"is a route.*Queue\('{queue.name}'\)"):
        queue.route(GPU).route_status()


def test_the_asynchronous_queue_has_the_call(queue: Queue, redis_url: str) -> None:
    queue.add("a", target=GPU)

    async def status() -> Any:
        async with aio.Queue(queue.name, url=redis_url) as other:
            return await other.route_status()

    assert asyncio.run(status())[0].waiting == 1


def test_a_route_without_a_worker_is_reported_once_and_counted(
    queue: Queue, keeper: Any, caplog: pytest.LogCaptureFixture
) -> None:
    add_old(queue, "a", "b")
    queue.add("young", target=EU)
    reported: list[Any] = []
    with caplog.at_level(logging.WARNING, "bullrush"), keeper(reported=reported) as one:
        wait_until(lambda: f'route="{queue.name}~cap.gpu"' in one.export_prometheus_metrics())
        metrics = one.export_prometheus_metrics().splitlines()
        wait_until(lambda: reported)
    label = f'queue="{queue.name}"'
    assert [line for line in metrics if line.startswith("bullmq_route_unmatched")] == [
        f'bullmq_route_unmatched{{{label}, route="{queue.name}~cap.gpu"}} 2',
        f'bullmq_route_unmatched{{{label}, route="{queue.name}~reg.eu"}} 1',
    ]
    assert reported == [(f"{queue.name}~cap.gpu", 2)]
    warnings = [record.getMessage() for record in caplog.records if "No worker takes" in record.getMessage()]
    assert len(warnings) == 1
    assert f"{queue.name}~cap.gpu" in warnings[0]
    assert "2 wait, the oldest for 12" in warnings[0]


def test_a_worker_of_a_route_counts_if_it_is_in_the_same_database(queue: Queue, redis_url: str) -> None:
    queue.add("a", target=GPU)
    other = redis_url.replace("/0", "/1")
    with Worker(queue.route(GPU).name, lambda job: None, url=other, autorun=True) as there:
        there.wait_until_ready()
        assert [route.workers for route in queue.route_status()] == [0]
    with Worker(queue.route(GPU).name, lambda job: None, url=redis_url, autorun=True) as here:
        here.wait_until_ready()
        assert [route.workers for route in queue.route_status()] == [1]


def test_one_worker_looks_after_the_routes_and_hands_over_when_it_ends(queue: Queue, redis: Redis, keeper: Any) -> None:
    key = f"bull:{queue.name}:ext:routewd"
    with keeper():
        wait_until(lambda: redis.exists(key))
        first = redis.get(key)
        assert 70_000 < redis.pttl(key) <= 75_000
        with keeper() as other:
            wait_until(lambda: redis.hlen(f"bull:{queue.name}:ext:workers") == 2)
            assert "bullmq_route_unmatched{" not in other.export_prometheus_metrics()
        assert redis.get(key) == first
    assert not redis.exists(key)


@pytest.mark.parametrize("cause", ["it looks for no stalled jobs", "a key of a route has another type"])
def test_a_worker_that_cannot_do_all_of_it_lets_another_one_look_after_the_routes(
    queue: Queue, redis: Redis, keeper: Any, cause: str
) -> None:
    key, target = f"bull:{queue.name}:ext:routewd", fallback_of(MINUTE)
    add_old(queue, "a", target=target)
    if cause == "a key of a route has another type":
        queue.route(EU).wait_until_ready()
        redis.set(queue.route(EU).to_key("wait"), "something else")
    with keeper(skip_stalled_check=cause == "it looks for no stalled jobs"):
        wait_until(lambda: queue.get_completed_count() == 1)  # it has looked: the job has gone to its fallback
        wait_until(lambda: not redis.exists(key))


def fallback_of(after: int, to: Any = "base", **target: Any) -> Any:
    return {"capabilities": ["gpu"], **target, "fallback_after": after, "fallback": to}


def test_a_job_whose_children_are_not_done_stays_in_its_route(queue: Queue, redis: Redis, keeper: Any) -> None:
    """Its children know it by its key. It is ready, since one of them failed and may."""
    target = fallback_of(MINUTE)
    ready = queue.add("parent", target=target, timestamp=_core.now_ms() - 2 * MINUTE)
    redis.sadd(queue.route(target).to_key(f"{ready.id}:dependencies"), f"bull:{queue.name}:child")
    add_old(queue, "other", target=target)
    with keeper():
        wait_until(lambda: queue.get_completed_count() == 1)
    assert [job.id for job in queue.route(target).get_waiting()] == [ready.id]


def test_the_last_fallback_that_is_given_counts(queue: Queue, redis: Redis) -> None:
    for after in (MINUTE, 0, MINUTE, 2 * MINUTE, MINUTE):
        queue.add("n", target=fallback_of(after))
    (registered,) = redis.hvals(f"bull:{queue.name}:ext:routes")
    assert json.loads(registered)["fallback_after"] == MINUTE


def test_jobs_that_nobody_takes_go_to_the_base(queue: Queue, keeper: Any, caplog: pytest.LogCaptureFixture) -> None:
    target = fallback_of(MINUTE)
    add_old(queue, "a", target=target, job_id="a")
    add_old(queue, "b", target=target, job_id="b", priority=2)
    add_old(queue, "c", target=target, job_id="c", delay=10_000)
    queue.add("young", target=target, job_id="young")
    queue.add("later", target=target, job_id="later", delay=MINUTE)
    with caplog.at_level(logging.INFO, "bullrush"), keeper():
        wait_until(lambda: queue.get_completed_count() == 3)
        wait_until(lambda: "went to" in caplog.text)
    assert sorted(job.id for job in queue.get_completed()) == ["a", "b", "c"]
    assert f"3 jobs of {queue.name}~cap.gpu went to {queue.name}" in caplog.text
    assert [job.id for job in queue.route(GPU).get_jobs(["waiting", "delayed"])] == ["young", "later"]


def test_jobs_go_to_a_wider_target(queue: Queue, redis: Redis, keeper: Any) -> None:
    add_old(queue, "a", target=fallback_of(MINUTE, EU))
    with keeper():
        wait_until(lambda: queue.route(EU).get_waiting_count() == 1)
    assert queue.route(GPU).get_waiting_count() == 0
    assert sorted(redis.hkeys(f"bull:{queue.name}:ext:routes")) == ["cap.gpu", "reg.eu"]


def test_a_job_whose_id_is_taken_gets_another_one(queue: Queue, keeper: Any, caplog: pytest.LogCaptureFixture) -> None:
    queue.add("theirs", {"of": "theirs"}, delay=MINUTE)
    add_old(queue, "mine", target=fallback_of(MINUTE))
    with caplog.at_level(logging.INFO, "bullrush"), keeper():
        wait_until(lambda: queue.get_completed_count() == 1)
        wait_until(lambda: "went to" in caplog.text)
    [job] = queue.get_completed()
    assert (job.id, job.data) == ("2", {"of": "mine"})
    assert "job 1 has the id 2 there" in caplog.text


def test_a_scheduler_of_a_route_goes_on_there(queue: Queue, keeper: Any) -> None:
    target = fallback_of(MINUTE)
    queue.add("a", target=target).remove()
    route = queue.route(GPU)
    _core.stop_clock(_core.now_ms() - 2 * MINUTE)
    route.upsert_job_scheduler("s", {"every": 5 * MINUTE}, {"name": "tick"})
    _core.stop_clock(None)
    with keeper():
        wait_until(lambda: queue.get_completed_count() == 1)
    [job] = queue.get_completed()
    [following] = route.get_delayed()
    scheduler = route.get_job_scheduler("s")
    assert scheduler is not None
    assert job.name == following.name == "tick"
    assert (scheduler["iteration_count"], following.id) == (2, f"repeat:s:{scheduler['next']}")
    assert queue.get_job_schedulers() == []


def test_the_parent_of_a_moved_job_waits_for_it(queue: Queue, redis_url: str, keeper: Any) -> None:
    queue.add("a", target=fallback_of(MINUTE)).remove()
    route = queue.route(GPU)
    old = {"timestamp": _core.now_ms() - 2 * MINUTE}
    child: Any = {"name": "child", "queue_name": route.name, "opts": old}
    with FlowProducer(url=redis_url) as flows:
        flows.add({"name": "parent", "queue_name": queue.name, "children": [child]})
    ran: list[str] = []
    with keeper(handler=lambda job: ran.append(job.name)):
        wait_until(lambda: queue.get_completed_count() == 2)
    assert ran == ["child", "parent"]


def test_jobs_of_a_paused_queue_stay_paused_where_they_go(queue: Queue, keeper: Any) -> None:
    add_old(queue, "a", target=fallback_of(MINUTE))
    queue.route(GPU).pause()
    queue.pause()
    with keeper():
        wait_until(lambda: queue.get_job_counts("paused") == {"paused": 1})
    assert queue.route(GPU).get_job_counts("paused") == {"paused": 0}


def test_a_route_that_redis_refuses_does_not_stop_the_fallbacks_of_others(
    queue: Queue, redis: Redis, keeper: Any
) -> None:
    targets: list[Any] = [{"region": [name], "fallback_after": MINUTE} for name in ("a", "b", "c")]
    for target in targets:
        add_old(queue, "a", target=target)
    key = queue.route(targets[1]).to_key("wait")
    redis.delete(key)
    redis.set(key, "text")
    errors: list[str] = []
    with keeper(errors=errors):
        wait_until(lambda: queue.get_completed_count() == 2)
        wait_until(lambda: any(text.startswith("could not look after the routes: WRONGTYPE") for text in errors))
    assert [queue.route(targets[at]).get_waiting_count() for at in (0, 2)] == [0, 0]


def test_all_old_jobs_of_a_route_leave_it_in_one_turn(queue: Queue, keeper: Any) -> None:
    target = fallback_of(MINUTE)
    opts: Any = {"target": target, "timestamp": _core.now_ms() - 2 * MINUTE}
    queue.add_bulk([{"name": "a", "data": 1, "opts": opts} for _ in range(250)])
    with keeper():
        wait_until(lambda: queue.get_completed_count() == 250)
    assert queue.route(GPU).get_waiting_count() == 0


def test_a_fallback_that_fails_does_not_stop_those_of_other_routes(queue: Queue, redis: Redis, keeper: Any) -> None:
    new = {"region": ["new"]}
    add_old(queue, "a", target={"capabilities": ["a"], "fallback_after": MINUTE, "fallback": new})
    add_old(queue, "b", target={"capabilities": ["b"], "fallback_after": MINUTE, "fallback": "base"})
    redis.hset(f"bull:{queue.name}:ext:routes", mapping={f"cap.{n}": "of another program" for n in range(256)})
    with keeper():
        wait_until(lambda: [job.name for job in queue.get_completed()] == ["b"])
    assert queue.route({"capabilities": ["a"]}).get_waiting_count() == 1


def test_jobs_do_not_go_round_in_circles(queue: Queue, keeper: Any) -> None:
    one, other = {"region": ["a"]}, {"region": ["b"]}
    add_old(queue, "a", target={**one, "fallback_after": MINUTE, "fallback": other})
    queue.add("b", target={**other, "fallback_after": MINUTE, "fallback": one})
    add_old(queue, "c", target={"region": ["c"], "fallback_after": MINUTE, "fallback": one})
    errors: list[str] = []
    with keeper(errors=errors):
        wait_until(lambda: queue.route(one).get_waiting_count() == 2)
        wait_until(lambda: len(errors) == 2)
    assert all("lead in a circle: its jobs stay" in text for text in errors)
    assert [queue.route({"region": [name]}).get_waiting_count() for name in "abc"] == [2, 1, 0]
