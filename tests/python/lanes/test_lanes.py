"""One worker serves several queues: each job belongs to its own queue, in all that happens to it."""

import asyncio
import threading
from functools import partial
from typing import Any

import pytest
from redis import Redis

from bullrush import Job, Queue, RateLimitError, Worker, aio
from bullrush.worker.lanes.lane import Lane
from tests.waiting import wait_until
from tests.watching import calls_about, commands_about, connections_for

NEVER = threading.Event()


def test_the_calls_of_a_job_go_to_its_own_queue(queues: Any, serve: Any) -> None:
    """All queues have a job 1."""
    made = queues(3)
    for at, queue in enumerate(made):
        assert queue.add("n", {"at": at}).id == "1"

    def handler(job: Job) -> str:
        job.update_progress(job.data["at"] * 10)
        job.log(f"in {job.queue_name}")
        job.update_data({**job.data, "seen": True})
        return job.queue_name

    completed: list[tuple[str, Any]] = []
    worker = serve(handler, made, start=False, concurrency=3)
    worker.on("completed", lambda job, result: completed.append((job.queue_name, result)))
    worker.run(until="empty")
    assert sorted(completed) == [(queue.name, queue.name) for queue in made]
    for at, queue in enumerate(made):
        job = queue.get_job("1")
        assert (job.returnvalue, job.progress, job.data) == (queue.name, at * 10, {"at": at, "seen": True})
        assert queue.get_job_logs("1")["logs"] == [f"in {queue.name}"]


def test_coroutine_functions_and_processes_get_the_jobs_of_all_queues(queues: Any, serve: Any) -> None:
    from tests.python.lanes.handlers import name_of_queue

    for options in ({}, {"isolation": "process"}):
        made = queues(2)
        jobs = [queue.add("n", {}) for queue in made]
        handler: Any = name_of_queue if options else _queue_of
        serve(handler, made, start=False, concurrency=2, **options).run(until="empty")
        for queue, job in zip(made, jobs, strict=True):
            found = queue.get_job(job.id)
            assert (found.returnvalue, found.progress) == (queue.name, 50)


async def _queue_of(job: aio.Job) -> str:
    await job.update_progress(50)
    return job.queue_name


def test_failures_and_retries_stay_in_the_queue_of_their_job(queues: Any, serve: Any) -> None:
    first, second = made = queues(2)
    for queue in made:
        queue.add("retried", {}, attempts=2)
        queue.add("delayed", {}, attempts=2, backoff=50)
        queue.add("fails", {}, attempts=1)

    def handler(job: Job) -> None:
        if job.name == "fails" or job.attempts_started == 1:
            raise ValueError(job.queue_name)

    failed: list[tuple[str, str]] = []
    worker = serve(handler, made, start=False, concurrency=4)
    worker.on("failed", lambda job, error: failed.append((job.queue_name, str(error))))
    worker.run(until="drained")
    assert sorted(failed) == [(first.name, first.name)] * 3 + [(second.name, second.name)] * 3
    for queue in made:
        assert queue.get_job_counts("completed", "failed", "active") == {"completed": 2, "failed": 1, "active": 0}


def test_a_job_that_comes_while_the_worker_waits_starts_at_once(queues: Any, serve: Any) -> None:
    """Also one that becomes due, and with more queues than one wait can watch."""
    made = queues(70)
    done: list[str] = []
    worker = serve(lambda job: done.append(job.queue_name), made, drain_delay=60_000)
    wait_until(lambda: _calls(worker) >= len(made))
    expected: list[str] = []
    for queue in (made[0], made[40], made[69]):
        for delay in (0, 100):
            queue.add("n", {}, delay=delay)
            expected.append(queue.name)
            wait_until(lambda: done == expected, seconds=8)


@pytest.mark.parametrize("reason", ["rate limit", "its slots are taken"])
def test_a_wait_for_the_other_queues_ends_when_a_queue_can_be_served_again(
    queues: Any, serve: Any, redis: Redis, reason: str
) -> None:
    """Otherwise a job that comes there, or its resume, would be noticed up to 2 s later."""
    first, second = queues(2)
    limited = reason == "rate limit"
    let_go = threading.Event()

    def handler(job: Job) -> None:
        assert limited or let_go.wait(30)

    with calls_about(second.name, redis) as calls:
        options: Any = {"limiter": {"max": 1, "duration": 500}} if limited else {}
        serve(handler, [Lane(first.name, concurrency=1), second], concurrency=3, **options)
        first.add_bulk([{"name": "n"}] * 2)

        def waits_without_the_first() -> list[list[str]]:
            waits = [call for call in calls() if call[0].upper() == "BZPOPMIN"]
            return [wait for wait in waits if first.name not in " ".join(wait)]

        wait_until(waits_without_the_first)
        let_go.set()
        wait_until(lambda: first.get_completed_count() == 2)
        assert {wait[-1] for wait in waits_without_the_first() if float(wait[-1]) > 0.6} == set()


def _calls(worker: Any) -> int:
    """Return how many fetches the worker has made."""
    return worker._run.core.stats()["calls"] if worker._run is not None else 0


def test_a_handler_limits_only_the_queue_of_its_job(queues: Any, serve: Any) -> None:
    limited, free = queues(2)
    limited.add("n", {})
    free.add_bulk([{"name": "n"} for _ in range(20)])
    done: list[str] = []
    made = threading.Event()

    def handler(job: Job) -> None:
        if job.queue_name == limited.name and limited.name not in done:
            done.append(limited.name)
            assert made.wait(30)
            worker.rate_limit(60_000)
            raise RateLimitError
        done.append(job.queue_name)

    worker = serve(handler, [limited, free])
    made.set()
    wait_until(lambda: done.count(free.name) == 20)
    free.add("n", {})
    wait_until(lambda: done.count(free.name) == 21)
    wait_until(lambda: limited.get_rate_limit_ttl() > 0 and limited.get_waiting_count() == 1)
    assert limited.get_active_count() == 0
    assert done.count(limited.name) == 1


def test_a_lost_lock_cancels_only_the_job_that_lost_it(queues: Any, serve: Any, redis: Redis) -> None:
    """Two jobs with the same id run here, each of another queue."""
    lost, kept = made = queues(2)
    for queue in made:
        queue.add("n", {})
    started: list[str] = []
    stopped: list[str] = []
    ends = threading.Event()

    async def handler(job: aio.Job) -> None:
        started.append(job.queue_name)
        try:
            while not ends.is_set():
                await asyncio.sleep(0.01)
        finally:
            stopped.append(job.queue_name)

    # Locks that are renewed often and last long: the other one does not expire on a loaded machine.
    serve(handler, made, concurrency=2, lock_duration=30_000, lock_renew_time=1_000, skip_stalled_check=True)
    wait_until(lambda: len(started) == 2)
    redis.set(lost.to_key("1:lock"), "somebody else's")
    wait_until(lambda: stopped == [lost.name])
    ends.set()
    wait_until(lambda: kept.get_job("1").finished_on)
    assert sorted(stopped) == sorted([lost.name, kept.name])


def test_a_job_is_cancelled_through_its_own_queue(queues: Any, serve: Any) -> None:
    cancelled, other = made = queues(2)
    for queue in made:
        queue.add("n", {})
    running: set[str] = set()

    def handler(job: Job) -> None:
        running.add(job.queue_name)
        while not job.cancelled and not NEVER.wait(0.01):
            pass
        running.discard(job.queue_name)
        job.check_cancelled()

    serve(handler, made, concurrency=2)
    wait_until(lambda: len(running) == 2)
    assert cancelled.cancel_job("1", "enough")
    wait_until(lambda: cancelled.get_job("1").failed_reason == "enough")
    assert running == {other.name}
    assert other.cancel_job("1", "enough as well")
    wait_until(lambda: not running)


def test_stalled_jobs_of_all_queues_run_again(queues: Any, serve: Any, redis: Redis) -> None:
    made = queues(3)
    for queue in made:
        job = queue.add("n", {})
        redis.lrem(queue.to_key("wait"), 1, job.id)
        redis.lpush(queue.to_key("active"), job.id)
        redis.hset(queue.to_key(job.id), mapping={"processedOn": 1, "ats": 1})
    stalled: list[str] = []
    worker = serve(lambda job: job.queue_name, made, start=False, stalled_interval=100)
    worker.on("stalled", stalled.append)
    worker.run(until="drained")
    assert [queue.get_completed_count() for queue in made] == [1, 1, 1]
    assert stalled == ["1", "1", "1"]


def test_a_queue_that_nobody_has_used_gets_no_keys(queues: Any, serve: Any, redis: Redis) -> None:
    used, unused = queues(2)
    used.add("n", {})
    done: list[str] = []
    serve(lambda job: done.append(job.queue_name), [Lane(used.name), Lane(unused.name, registered=False)],
          stalled_interval=50)  # fmt: skip
    wait_until(lambda: done == [used.name])
    wait_until(lambda: redis.exists(used.to_key("stalled-check")))
    assert redis.keys(unused.to_key("*")) == []
    # Its first job may be another client's. From then on the queue has all that queues have.
    unused.add("n", {})
    wait_until(lambda: done == [used.name, unused.name])
    wait_until(lambda: redis.exists(unused.to_key("stalled-check")))


def test_a_worker_of_several_queues_claims_nothing_ahead(queues: Any, serve: Any, redis: Redis) -> None:
    made = queues(2)
    for queue in made:
        queue.add_bulk([{"name": "n"} for _ in range(300)])
    active: list[int] = []

    def handler(_job: Job) -> None:
        if len(active) % 10:
            active.append(0)
            return
        with redis.pipeline() as at_once:
            for queue in made:
                at_once.llen(queue.to_key("active"))
            active.append(sum(at_once.execute()))

    serve(handler, made, start=False, concurrency=2, prefetch=50).run(until="empty")
    assert len(active) == 600
    assert max(active) <= 2


def test_drained_waits_for_jobs_of_each_queue_that_run_elsewhere(queues: Any, serve: Any, redis: Redis) -> None:
    first, second = queues(2)
    first.add("n", {})
    second.add("n", {})
    foreign = second.add("held elsewhere", {})
    redis.lrem(second.to_key("wait"), 1, foreign.id)
    redis.lpush(second.to_key("active"), foreign.id)
    redis.set(second.to_key(f"{foreign.id}:lock"), "another worker", px=60_000)
    worker = serve(lambda _job: None, [first, second], start=False)
    ended = threading.Event()
    thread = threading.Thread(target=lambda: (worker.run(until="drained"), ended.set()))
    thread.start()
    wait_until(lambda: second.get_completed_count() == 1)
    assert not ended.wait(0.3)
    redis.delete(second.to_key(f"{foreign.id}:lock"))
    redis.lrem(second.to_key("active"), 1, foreign.id)
    assert ended.wait(20)
    thread.join()


def test_a_queue_that_redis_refuses_is_left_out_and_reported_once(
    queues: Any, serve: Any, redis: Redis, redis_url: str
) -> None:
    open_queue, shut = queues(2)
    user = f"user-{open_queue.name}"
    redis.acl_setuser(
        user, enabled=True, passwords=["+secret"], channels=["*"], commands=["+@all"],
        keys=[open_queue.to_key("*"), open_queue.to_key("")],
    )  # fmt: skip
    done: list[str] = []
    errors: list[str] = []
    url = redis_url.replace("redis://", f"redis://{user}:secret@")
    open_queue.add("n", {})
    shut.add("n", {})
    worker = serve(lambda job: done.append(job.queue_name), [open_queue, shut], start=False, url=url,
                   run_retry_delay=50)  # fmt: skip
    worker.on("error", lambda error: errors.append(str(error)))
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        for _ in range(3):
            before = done.count(open_queue.name)
            open_queue.add("n", {})
            wait_until(partial(lambda before: done.count(open_queue.name) > before, before))
        wait_until(lambda: errors)
        redis.acl_setuser(user, reset_keys=True, keys=["*"], enabled=True)
        wait_until(lambda: shut.name in done)
    finally:
        worker.close()
        thread.join()
        redis.acl_deluser(user)
    assert len(errors) == 1
    assert f"queue {shut.name} is left out for now" in errors[0]


@pytest.mark.parametrize("reason", ["WRONGTYPE", "NOPERM"])
def test_a_queue_whose_keys_redis_refuses_while_the_worker_runs_holds_no_other_up(
    queues: Any, serve: Any, redis: Redis, redis_url: str, reason: str
) -> None:
    served, shut = queues(2)
    user = f"user-{served.name}"
    redis.acl_setuser(user, enabled=True, passwords=["+secret"], channels=["*"], commands=["+@all"], keys=["*"])
    done: list[str] = []
    errors: list[str] = []
    # If the whole worker paused after a refusal, nothing would run in time.
    worker = serve(lambda job: done.append(job.queue_name), [served, shut], run_retry_delay=60_000,
                   url=redis_url.replace("redis://", f"redis://{user}:secret@"))  # fmt: skip
    worker.on("error", lambda error: errors.append(str(error)))
    for queue in (served, shut):
        queue.add("n", {})
    wait_until(lambda: set(done) == {served.name, shut.name})
    try:
        if reason == "NOPERM":
            rule = [f"~{key}" for key in (served.to_key("*"), served.to_key(""))]
            redis.execute_command("ACL", "SETUSER", user, "resetkeys", *rule)
            shut.add("n", {})
        else:
            redis.set(shut.to_key("wait"), "of another program")
            redis.zadd(shut.to_key("marker"), {"0": 0})
        wait_until(lambda: errors)
        for _ in range(3):
            before = done.count(served.name)
            served.add("n", {})
            wait_until(partial(lambda before: done.count(served.name) > before, before))
        assert worker.health().refusal == reason
        assert len(errors) == 1
        assert f"queue {shut.name} is left out for now, the others are served: {reason}" in errors[0]
        redis.acl_setuser(user, keys=["*"])
        if reason == "WRONGTYPE":
            redis.delete(shut.to_key("wait"))
            shut.add("n", {})
        wait_until(lambda: done.count(shut.name) == 2)
        wait_until(lambda: worker.health().refusal is None)
    finally:
        redis.acl_deluser(user)


@pytest.mark.parametrize(
    ("reason", "reported"),
    [
        ("WRONGTYPE", "the marker of queue {} is refused, so its jobs are found late: WRONGTYPE"),
        ("NOPERM", "queue {} is left out for now, the others are served: NOPERM"),  # a fetch uses the marker, too
    ],
)
def test_a_queue_whose_marker_redis_refuses_keeps_the_worker_from_waiting_for_no_other(
    queues: Any, serve: Any, redis: Redis, redis_url: str, reason: str, reported: str
) -> None:
    served, shut = queues(2)
    user = f"user-{served.name}"
    redis.acl_setuser(user, enabled=True, passwords=["+secret"], channels=["*"], commands=["+@all"], keys=["*"])
    done: list[str] = []
    errors: list[str] = []
    worker = serve(lambda job: done.append(job.queue_name), [served, shut],
                   url=redis_url.replace("redis://", f"redis://{user}:secret@"))  # fmt: skip
    worker.on("error", lambda error: errors.append(str(error)))

    def waits() -> bool:
        return any(client["user"] == user and "b" in client["flags"] for client in redis.client_list())

    try:
        wait_until(waits)
        if reason == "NOPERM":
            keys = [served.to_key("*"), *(shut.to_key(name) for name in ("[!m]*", "meta")), shut.to_key("")]
            redis.execute_command("ACL", "SETUSER", user, "resetkeys", *(f"~{key}" for key in keys))
        else:
            redis.set(shut.to_key("marker"), "of another program")
        served.add("n", {})
        wait_until(lambda: errors and waits())
        assert any(reported.format(shut.name) in error for error in errors)
        for _ in range(3):
            before = done.count(served.name)
            wait_until(waits)
            served.add("n", {})
            wait_until(partial(lambda before: done.count(served.name) > before, before))
    finally:
        redis.acl_deluser(user)


def test_queues_of_a_worker_need_one_connection_that_waits(queues: Any, serve: Any, redis: Redis) -> None:
    made = queues(64)
    worker = serve(lambda _job: None, made)
    wait_until(lambda: _calls(worker) >= len(made))
    wait_until(lambda: [client["cmd"] for client in connections_for(made[0].name, redis)] == ["bzpopmin"])


def test_an_idle_worker_of_many_queues_makes_one_fetch_per_wait(
    queues: Any, serve: Any, redis: Redis, queue_name: str
) -> None:
    made = queues(64)
    worker = serve(lambda _job: None, made, drain_delay=100, skip_stalled_check=True)
    wait_until(lambda: _calls(worker) >= len(made))
    with commands_about(queue_name, redis) as commands:
        wait_until(lambda: commands().count("BZPOPMIN") >= 2)
        before = len(commands())
        wait_until(lambda: commands()[before:].count("BZPOPMIN") >= 5)
        later = commands()[before:]
    # A fetch follows its wait, and the first wait may have begun before.
    assert later.count("EVALSHA") <= later.count("BZPOPMIN") + 1


def test_a_limit_that_all_queues_share_is_set_by_the_handler_of_any(
    redis_url: str, queue_name: str, redis: Redis
) -> None:
    profile: Any = {"capabilities": ["gpu"]}
    started: list[str] = []

    def handler(job: Job) -> None:
        started.append(job.queue_name)
        worker.rate_limit(60_000)
        raise RateLimitError

    with (
        Queue(queue_name, url=redis_url) as queue,
        Worker(queue_name, handler, url=redis_url, profile=profile, share_rate_limit=True) as worker,
    ):
        route = queue.route(profile).name
        queue.add("n", {}, target=profile)
        wait_until(lambda: redis.llen(f"bull:{route}:wait") == 1)
        thread = threading.Thread(target=worker.run)
        thread.start()
        wait_until(lambda: started == [route])
        wait_until(lambda: redis.llen(f"bull:{route}:wait") == 1)
        for _ in range(3):
            queue.add("n", {})
        assert redis.pttl(queue.to_key("limiter")) > 0
        assert not redis.exists(f"bull:{route}:limiter")
        worker.close()
        thread.join()
        assert (started, queue.get_waiting_count()) == ([route], 3)


def test_drained_waits_for_a_route_that_this_worker_does_not_match(redis_url: str, queue_name: str) -> None:
    gpu: Any = {"capabilities": ["gpu"]}

    def run(profile: Any, until: Any) -> int:
        with Worker(queue_name, lambda _job: None, url=redis_url, profile=profile) as worker:
            return worker.run(until=until).completed

    with Queue(queue_name, url=redis_url) as queue:
        queue.add("n", {}, target=gpu)
        queue.add("n", {})
        assert run({"capabilities": ["cpu"]}, "empty") == 1
        ended = threading.Event()
        waiting = threading.Thread(target=lambda: (run({"capabilities": ["cpu"]}, "drained"), ended.set()))
        waiting.start()
        assert not ended.wait(0.5)
        assert run(gpu, "empty") == 1
        assert ended.wait(20)
        waiting.join()
