"""BR107 to BR111: jobs that wait, workers and locks."""

from threading import Event, Thread

from redis import Redis

from bullrush import Queue, Worker
from bullrush._core import now_ms
from bullrush.doctor import Doctor
from bullrush.worker.lanes.lane import Lane
from tests.python.doctor.conftest import LONG_AGO, Findings, add_long_ago, codes, connected_as, repaired, worker_name
from tests.waiting import wait_until


def test_jobs_that_no_worker_takes_are_named(queue: Queue, findings: Findings) -> None:
    queue.add("new", delay=1)
    assert findings() == []
    [id] = add_long_ago(queue)
    [finding] = findings()
    assert (finding.code, finding.ids) == ("BR107", (id,))
    queue.pause()
    assert findings() == []


def test_a_queue_that_is_named_brings_its_routes(queue: Queue, doctor: Doctor, redis: Redis) -> None:
    job = queue.add("render", target={"capabilities": ["gpu"]})
    queue.add("render", target={"region": ["eu"]})
    route, idle = f"{queue.name}~cap.gpu", f"{queue.name}~reg.eu"
    redis.hincrby(f"bull:{route}:{job.id}", "timestamp", -LONG_AGO)
    report = doctor.examine([queue.name])
    assert report.queues == [queue.name, route, idle]
    [finding] = [finding for finding in report.findings if finding.queue]
    assert (finding.code, finding.queue) == ("BR107", route)
    assert f"worker of {queue.name} whose profile (--profile) matches" in finding.advice
    for key in redis.keys(f"bull:{idle}:*"):
        redis.delete(key)
    report = doctor.examine([queue.name])
    assert (report.queues, report.skipped) == ([queue.name, route], []), "a route without keys is no mistake"


def test_a_worker_on_another_database_of_the_server_is_named(queue: Queue, findings: Findings, redis_url: str) -> None:
    add_long_ago(queue)
    with connected_as(f"{redis_url.removesuffix('/0')}/3", worker_name(queue, "astray")):
        [finding] = findings()
    assert finding.code == "BR107"
    assert "Connected to another database: astray at " in finding.detail and ", database 3" in finding.detail
    assert finding.advice.startswith("Give the worker the database of this URL")


def test_workers_that_are_deaf_are_named(queue: Queue, findings: Findings, redis_url: str) -> None:
    add_long_ago(queue)
    with connected_as(redis_url, worker_name(queue, "deaf")):
        [finding] = findings()
    assert finding.code == "BR108" and "deaf at " in finding.detail


def test_a_queue_whose_worker_is_busy_with_another_queue_has_a_worker(
    queue: Queue, findings: Findings, redis: Redis, redis_url: str
) -> None:
    first, ends = f"{queue.name}~first", Event()
    worker = Worker(first, lambda job: ends.wait(20), url=redis_url)
    worker.serve([Lane(first), Lane(queue.name)])
    thread = Thread(target=worker.run)
    thread.start()
    try:
        with Queue(first, url=redis_url) as other:
            other.add("slow")
            wait_until(other.get_active_count)
        add_long_ago(queue)
        assert findings() == []
        redis.delete(queue.to_key("stalled-check"))
        assert codes(findings()) == ["BR107"]
    finally:
        ends.set()
        worker.close()
        thread.join()


def test_workers_of_another_database_are_no_workers_of_the_queue(
    queue: Queue, findings: Findings, redis_url: str
) -> None:
    add_long_ago(queue)
    other = redis_url.replace("/0", "/1")
    with Worker(queue.name, lambda job: None, url=other, name="there", autorun=True):
        wait_until(Queue(queue.name, url=other).get_workers)
        assert codes(findings()) == ["BR107"]
    twin = worker_name(queue, "twin")
    with connected_as(redis_url, twin), connected_as(other, twin):
        assert codes(findings()) == ["BR108"], "it has no twin here"


def test_a_worker_that_is_busy_is_not_deaf(queue: Queue, findings: Findings, redis: Redis, redis_url: str) -> None:
    active, _ = add_long_ago(queue, 2)
    with Worker(queue.name, None, url=redis_url) as worker, connected_as(redis_url, worker_name(queue, "busy")):
        assert worker.get_next_job("token") is not None
        redis.hset(queue.to_key(active), "processedOn", now_ms() - LONG_AGO)
        assert findings() == []


def test_workers_of_one_name_are_named(queue: Queue, findings: Findings, redis_url: str) -> None:
    queue.add("send")
    name = worker_name(queue, "twin")
    with connected_as(redis_url, name, name, worker_name(queue, "other")):
        [finding] = findings()
    assert (finding.code, finding.detail) == ("BR109", "twin (2 connections)")


def test_active_jobs_without_a_lock_are_named(queue: Queue, findings: Findings, redis: Redis, redis_url: str) -> None:
    queue.add_bulk([{"name": "send"} for _ in range(3)])
    with Worker(queue.name, None, url=redis_url) as worker:
        jobs = [worker.get_next_job("token") for _ in range(2)]
        assert findings() == []
        redis.delete(queue.to_key(f"{jobs[0].id}:lock"))
        [finding] = findings()
        assert (finding.code, finding.ids, finding.severity) == ("BR110", (jobs[0].id,), "fault")
        redis.set(queue.to_key("stalled-check"), 1, px=30_000)
        [finding] = findings()
        assert (finding.code, finding.severity) == ("BR110", "warning"), "workers will find the job"
        assert finding.advice.startswith("Wait: ")


def test_a_lock_without_end_expires(
    queue: Queue, doctor: Doctor, findings: Findings, redis: Redis, redis_url: str
) -> None:
    queue.add("send")
    with Worker(queue.name, None, url=redis_url) as worker:
        job = worker.get_next_job("token")
        redis.persist(queue.to_key(f"{job.id}:lock"))
        assert repaired(doctor, findings, "BR111")
