"""Getters: a queue's jobs, workers and limits, and a job's children."""

import threading
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from redis import Redis

from bullrush import Job, Queue, Worker, errors
from bullrush.embedded import EmbeddedRedis
from tests.waiting import wait_until
from tests.watching import commands_about


@pytest.fixture
def child(queue: Queue, redis: Redis) -> Callable[..., Job]:
    """Make a child of the job ``p``, which is made as well."""
    key = queue.to_key("p")
    redis.hset(key, mapping={"name": "p", "data": "{}", "opts": "{}", "timestamp": 1})
    redis.zadd(queue.to_key("waiting-children"), {"p": 1})

    def make(job_id: str) -> Job:
        parent = orjson.dumps({"id": "p", "queueKey": queue.qualified_name})
        queue.add("child", job_id=job_id)
        redis.hset(queue.to_key(job_id), mapping={"parentKey": key, "parent": parent})
        redis.sadd(f"{key}:dependencies", queue.to_key(job_id))
        job = queue.get_job(job_id)
        assert job is not None
        return job

    return make


@pytest.fixture
def parent(queue: Queue, child: Callable[..., Job], redis: Redis) -> Job:
    """Return a job with 30 children of each kind."""
    key = queue.to_key("p")
    for n in range(30):
        redis.hset(f"{key}:processed", queue.to_key(f"done{n}"), orjson.dumps({"n": n}))
        redis.hset(f"{key}:failed", queue.to_key(f"ignored{n}"), f"no {n}")
        redis.zadd(f"{key}:unsuccessful", {queue.to_key(f"bad{n}"): n})
        redis.sadd(f"{key}:dependencies", queue.to_key(f"open{n}"))
    job = queue.get_job("p")
    assert job is not None
    return job


def test_a_job_reads_the_results_and_failures_of_its_children(queue: Queue, parent: Job) -> None:
    assert parent.get_children_values() == {queue.to_key(f"done{n}"): {"n": n} for n in range(30)}
    ignored = {queue.to_key(f"ignored{n}"): f"no {n}" for n in range(30)}
    assert parent.get_ignored_children_failures() == parent.get_failed_children_values() == ignored
    everything = parent.get_dependencies()
    counts: dict[str, int] = {kind: len(children) for kind, children in everything.items()}  # type: ignore[arg-type]
    assert counts == parent.get_dependencies_count()
    assert everything["failed"] == [queue.to_key(f"bad{n}") for n in range(30)]
    assert set(everything["unprocessed"]) == {queue.to_key(f"open{n}") for n in range(30)}
    assert parent.get_dependencies_count(failed=True, ignored=True) == {"ignored": 30, "failed": 30}


@pytest.mark.parametrize("kind", ["processed", "unprocessed", "ignored", "failed"])
def test_every_page_of_children_can_be_read(parent: Job, kind: str) -> None:
    """In BullMQ the second page of failed children is empty, and the cursor never reaches the end."""
    found: list[Any] = []
    cursor, pages = 0, 0
    while cursor or not pages:
        asked: Any = {kind: {"cursor": cursor, "count": 10}}
        page: Any = parent.get_dependencies(**asked)
        assert set(page) == {kind, f"next_{kind}_cursor"}
        found += page[kind]
        cursor = page[f"next_{kind}_cursor"]
        pages += 1
    assert set(found) == set(parent.get_dependencies()[kind])  # type: ignore[literal-required]
    assert pages == 3 or kind != "failed"


def test_the_first_page_of_children_has_about_twenty(parent: Job) -> None:
    page = parent.get_dependencies(failed={}, unprocessed={})
    assert (len(page["failed"]), page["next_failed_cursor"]) == (20, 20)
    assert len(page["unprocessed"]) >= 20
    with pytest.raises(errors.InvalidOptionError, match="counts"):
        parent.get_dependencies(failed={"counts": 5})  # type: ignore[typeddict-unknown-key]


def test_a_queue_reads_the_children_of_a_job(queue: Queue, parent: Job, redis: Redis) -> None:
    redis.hset(queue.to_key("done3"), mapping={"name": "n", "data": "{}"})
    redis.hset(queue.to_key("p:processed"), queue.to_key("done4"), "{")
    everything = queue.get_dependencies("p", "processed", 0, -1)
    assert everything["total"] == 30
    items = {item["id"].rpartition(":")[2]: item for item in everything["items"]}
    assert items["done3"]["v"] == {"n": 3}
    assert "not valid JSON" in items["done4"]["err"]
    assert {"name": "n", "data": "{}"} in everything["jobs"]
    pages = [queue.get_dependencies("p", "pending", first, first + 11) for first in (0, 12, 24)]
    assert [len(page["items"]) for page in pages] == [12, 12, 6]
    assert len({item["id"] for page in pages for item in page["items"]}) == 30
    assert queue.get_dependencies("none", "pending", 0, -1) == {"items": [], "jobs": [], "total": 0}
    with pytest.raises(errors.InvalidOptionError, match="processed"):
        queue.get_dependencies("p", "done", 0, -1)  # type: ignore[arg-type]


def test_a_child_can_be_removed_from_its_parent(queue: Queue, child: Callable[..., Job]) -> None:
    first, last = child("a"), child("b")
    assert first.remove_child_dependency()
    assert (first.parent_key, first.parent) == (None, None)
    assert queue.get_job_state("p") == "waiting-children"
    assert last.remove_child_dependency()
    assert queue.get_job_state("p") == "waiting"
    with pytest.raises(
        errors.ParentNotFoundError, match=r"Missing key for parent job undefined. removeChildDependency"
    ):
        last.remove_child_dependency()
    queue.remove("a")
    with pytest.raises(errors.JobNotFoundError, match=r"Missing key for job a. removeChildDependency"):
        first.remove_child_dependency()


def test_pending_children_are_removed(queue: Queue, child: Callable[..., Job]) -> None:
    child("a")
    child("b")
    job = queue.get_job("p")
    assert job is not None
    job.remove_unprocessed_children()
    assert (queue.get_job("a"), queue.get_job("b")) == (None, None)
    assert queue.get_job_state("p") == "waiting"


def test_counts_per_priority(queue: Queue) -> None:
    queue.add_bulk([{"name": "n", "opts": {"priority": priority}} for priority in (0, 0, 1, 5, 5)])
    assert queue.get_counts_per_priority([0, 1, 2, 5, 5]) == {"0": 2, "1": 1, "2": 0, "5": 2}
    queue.pause()
    assert queue.get_counts_per_priority([0, 5]) == {"0": 2, "5": 2}
    with pytest.raises(errors.InvalidOptionError, match="Priority"):
        queue.get_counts_per_priority([-1])


def test_the_time_until_a_rate_limit_ends(queue: Queue, redis: Redis) -> None:
    assert (queue.get_rate_limit_ttl(), queue.get_rate_limit_ttl(5)) == (-2, 0)
    redis.set(queue.to_key("limiter"), 3, px=60_000)
    assert queue.get_rate_limit_ttl(4) == 0
    assert 50_000 < queue.get_rate_limit_ttl(3) <= 60_000
    assert queue.get_rate_limit_ttl() > 50_000
    queue.set_global_rate_limit(4, 1000)
    assert queue.get_rate_limit_ttl() == 0
    queue.rate_limit(60_000)
    assert queue.get_rate_limit_ttl() > 50_000


def test_the_delayed_jobs_and_all_others_are_counted(queue: Queue) -> None:
    queue.add("later", delay=60_000)
    queue.add("first", priority=1)
    queue.add("n")
    counts = [
        getattr(queue, f"get_{state}_count")()
        for state in ("delayed", "prioritized", "waiting", "active", "completed", "failed", "waiting_children")
    ]
    assert (counts, queue.count()) == ([1, 1, 1, 0, 0, 0, 0], 3)


def test_delayed_jobs_that_are_due_before_a_moment_are_counted(queue: Queue) -> None:
    moment = 1_800_000_000_000
    for delay in (1000, 2000, 2000, 3000):
        queue.add("later", delay=delay, timestamp=moment)
    counts = [queue.get_delayed_count(moment + delay) for delay in (1000, 1001, 2500, 5000)]
    assert (counts, queue.get_delayed_count()) == ([0, 1, 3, 4], 4)


def test_the_marker_of_an_old_client_is_not_a_job(queue: Queue, redis: Redis) -> None:
    redis.rpush(queue.to_key("wait"), "0:0")
    assert queue.get_job_counts("waiting") == {"waiting": 0, "paused": 0}
    assert (queue.get_waiting(), queue.get_ranges("waiting"), queue.count()) == ([], [], 0)


def test_workers_are_listed_while_they_are_connected(queue: Queue, worker: Callable[..., Worker]) -> None:
    assert (queue.get_workers(), queue.get_workers_count(), queue.get_queue_events()) == ([], 0, [])
    plain = worker(lambda job: None, autorun=True)
    worker(lambda job: None, autorun=True, name="w1")
    wait_until(lambda: queue.get_workers_count() == 2)
    found = queue.get_workers()
    assert {client["name"] for client in found} == {queue.name}
    assert {client["rawname"].rpartition(":w:")[2] for client in found} >= {"w1"}
    wait_until(lambda: {client["cmd"] for client in queue.get_workers()} == {"bzpopmin"})
    plain.close()
    wait_until(lambda: [client["rawname"][-5:] for client in queue.get_workers()] == [":w:w1"])


def test_a_worker_of_another_database_is_no_worker_of_the_queue(queue: Queue, redis_url: str) -> None:
    other = redis_url.replace("/0", "/1")
    with Worker(queue.name, lambda job: None, url=other) as worker:
        worker.wait_until_ready()
        assert (Queue(queue.name, url=other).get_workers_count(), queue.get_workers_count()) == (1, 0)


def test_a_worker_has_its_name_again_after_its_connection_was_cut(
    queue: Queue, worker: Callable[..., Worker], redis: Redis
) -> None:
    worker(lambda job: None, autorun=True, name="w1")
    wait_until(lambda: queue.get_workers_count() == 1)
    (first,) = queue.get_workers()
    redis.client_kill_filter(_id=first["id"])
    wait_until(lambda: [client["id"] for client in queue.get_workers()] not in ([], [first["id"]]))
    assert queue.get_workers()[0]["rawname"] == first["rawname"]


def test_a_worker_that_was_never_idle_is_listed(queue: Queue, worker: Callable[..., Worker]) -> None:
    release = threading.Event()
    queue.add_bulk([{"name": "long"}] * 2)
    worker(lambda job: release.wait(20), prefetch=0, autorun=True)
    wait_until(lambda: queue.get_active_count() == 1)
    wait_until(lambda: queue.get_workers_count() == 1)
    release.set()


def names(queue: Queue) -> list[str]:
    return [client["rawname"].rpartition(":w:")[2] for client in queue.get_workers()]


def test_a_worker_that_is_ready_is_listed_until_it_is_closed(queue: Queue, worker: Callable[..., Worker]) -> None:
    ready = worker(lambda job: None, name="ready")
    assert names(queue) == []
    ready.wait_until_ready()
    assert names(queue) == ["ready"]
    ready.close()
    wait_until(lambda: names(queue) == [])
    with pytest.raises(errors.ClosedError):
        ready.wait_until_ready()


def test_a_manual_worker_is_listed(queue: Queue, worker: Callable[..., Worker]) -> None:
    queue.add("n")
    hand = worker(name="hand")
    job = hand.get_next_job("t", block=False)
    assert job is not None
    wait_until(lambda: names(queue) == ["hand"])
    job.move_to_completed(1, fetch_next=False)
    hand.close()
    wait_until(lambda: names(queue) == [])


def test_a_worker_that_was_ready_before_it_runs_is_listed_once(queue: Queue, worker: Callable[..., Worker]) -> None:
    running = worker(lambda job: None, name="once")
    running.wait_until_ready()
    thread = threading.Thread(target=running.run)
    thread.start()
    wait_until(lambda: [client["cmd"] for client in queue.get_workers()] == ["bzpopmin"])
    running.wait_until_ready()
    assert names(queue) == ["once"]
    running.close()
    thread.join(10)
    wait_until(lambda: names(queue) == [])


def test_get_workers_says_so_if_the_server_does_not_support_client_list() -> None:
    with (
        EmbeddedRedis(port=0, password="", args=["--rename-command", "CLIENT", ""]) as server,
        Queue("mail", url=server.url) as queue,
    ):
        assert queue.get_workers() == [{"name": "GCP does not support client list"}]


def test_get_workers_raises_if_the_user_may_not_list_clients(redis: Redis, redis_url: str, queue: Queue) -> None:
    user = queue.name
    redis.acl_setuser(user, enabled=True, passwords=["+pw"], keys=["*"], commands=["+@all", "-client"])
    with (
        Queue(queue.name, url=redis_url.replace("//", f"//{user}:pw@", 1)) as theirs,
        pytest.raises(errors.RedisServerError, match="NOPERM"),
    ):
        theirs.get_workers()


def test_workers_of_another_queue_are_not_listed(redis_url: str, queue: Queue, worker: Callable[..., Worker]) -> None:
    worker(lambda job: None, autorun=True)
    wait_until(lambda: queue.get_workers_count() == 1)
    with (
        Queue(queue.name + "x", url=redis_url) as longer,
        Queue(queue.name[:-1], url=redis_url) as shorter,
        Queue(queue.name, url=redis_url, prefix="other") as other,
    ):
        assert [found.get_workers() for found in (longer, shorter, other)] == [[], [], []]


def test_a_job_can_be_made_and_found_by_its_class(queue: Queue) -> None:
    job = Job.create(queue, "n", {"a": 1}, {"attempts": 3})
    assert Job.create(queue, "n").data == {}
    assert [job.name for job in Job.create_bulk(queue, [{"name": "x"}, {"name": "y"}])] == ["x", "y"]
    found = Job.from_id(queue, job.id)
    assert found is not None
    assert (found.data, found.opts["attempts"]) == ({"a": 1}, 3)
    assert Job.from_id(queue, "none") is None
    assert Job.add_job_log(queue, job.id, "row", 5) == 1


def test_a_job_can_be_made_from_its_stored_fields(queue: Queue, redis: Redis) -> None:
    job_id = queue.add("n", {"a": [1]}, priority=2, keep_logs=5).id
    redis.hset(queue.to_key(job_id), mapping={"ats": 2, "atm": 1, "stc": 3, "pb": "w", "nrjid": "x", "deid": "d"})
    read, made = queue.get_job(job_id), Job.from_json(queue, redis.hgetall(queue.to_key(job_id)), job_id)
    assert read is not None
    assert made.to_json() == read.to_json()
    assert Job.from_json(queue, read.as_json()).as_json() == read.as_json()
    shown = read.to_json()
    assert orjson.dumps(shown)
    assert (shown["attempts_started"], shown["processed_by"], shown["next_repeatable_job_id"]) == (2, "w", "x")
    assert (read.debounce_id, read.deduplication_id) == ("d", "d")
    assert made.get_state() == "prioritized"
    with pytest.raises(errors.InvalidOptionError, match="id"):
        Job.from_json(queue, {"name": "n"})


def test_options_have_a_stored_form(queue: Queue) -> None:
    stored = Job.opts_as_json({"keep_logs": 5, "job_id": "x", "backoff": 7})
    assert stored == {"attempts": 0, "kl": 5, "jobId": "x", "backoff": {"type": "fixed", "delay": 7}}
    assert Job.opts_from_json(orjson.dumps(stored)) == {
        "attempts": 0, "keep_logs": 5, "job_id": "x", "backoff": {"type": "fixed", "delay": 7},
    }  # fmt: skip
    assert Job.opts_from_json("") == {}
    with pytest.raises(errors.UnknownOptionError, match="keep_logs"):
        Job.opts_as_json({"keepLogs": 5})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(errors.MalformedJobError):
        Job.opts_from_json("{")


def test_many_children_are_read_quickly(queue: Queue, redis: Redis) -> None:
    """There is no call per child."""
    redis.hset(queue.to_key("p:processed"), mapping={queue.to_key(str(n)): "1" for n in range(20_000)})
    queue.wait_until_ready()
    with commands_about(queue.name, redis) as commands:
        assert len(queue.get_dependencies("p", "processed", 100, 199)["items"]) == 100
        assert len(commands()) < 500


def test_a_child_removed_from_its_parent_has_no_parent(queue: Queue, child: Callable[..., Job]) -> None:
    """BullMQ 5.62.0 shows the parent again when the job is read again, because its options still have it."""
    assert child("a").remove_child_dependency()
    again = queue.get_job("a")
    assert again is not None
    assert (again.parent_key, again.parent) == (None, None)
    with pytest.raises(errors.ParentNotFoundError):
        again.remove_child_dependency()


@pytest.mark.parametrize("stored", ["", "nan", "abc", "0x10", "Infinity", "1e400"])
def test_settings_that_are_no_numbers_read_as_not_set(queue: Queue, redis: Redis, stored: str) -> None:
    redis.hset(f"bull:{queue.name}:meta", mapping={"concurrency": stored, "max": stored, "duration": stored})
    assert queue.get_global_concurrency() is None
    assert queue.get_global_rate_limit() is None
    assert queue.is_maxed() is False
    assert queue.get_rate_limit_ttl() == -2
