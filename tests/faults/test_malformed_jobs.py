"""Other clients may damage the keys of a job: it fails with a reason, the worker and the other jobs continue.

An id whose key is gone, or no hash, is no job: it leaves the queue with a warning.
"""

import asyncio
import re
import threading
from collections.abc import Callable

import pytest
from redis import Redis

from bullrush import Job, Queue, Worker, aio
from tests.waiting import wait_until

Damage = Callable[[Redis, str], object]


def put(**fields: str | bytes) -> Damage:
    return lambda redis, key: redis.hset(key, mapping=fields)


def lose(*fields: str) -> Damage:
    return lambda redis, key: redis.hdel(key, *fields)


#: The damage, and the text that the reason must have.
FATAL: dict[str, tuple[Damage, str]] = {
    "data that is not JSON": (put(data="{oops"), "its data is not valid JSON"),
    "data cut in the middle of a character": (put(data=b'"\xc3'), "its data is not valid JSON"),
    "opts that are not JSON": (put(opts="{oops"), "its opts is not valid JSON"),
    "opts that are no object": (put(opts="[1]"), "its opts are not an object"),
    "no name": (lose("name"), "Missing key for job|no name"),
    "no name and no data": (lose("name", "data", "opts"), "Missing key for job|no name"),
}

#: Damage that Node replaces by a default, and so do we.
HARMLESS: dict[str, Damage] = {
    "no data": lose("data"),
    "no opts": lose("opts"),
    "empty data and opts": put(data="", opts=""),
    "no numbers": lose("timestamp", "delay", "priority"),
    "numbers that are none": put(timestamp="x", delay="y", priority="z", atm="?", ats="!", stc="-"),
    "a stacktrace that is no list": put(stacktrace="{}"),
    "opts of other types": put(
        opts='{"attempts":"many","backoff":[],"removeOnComplete":"no","lifo":"?","de":7,"kl":{}}'
    ),
    "surplus fields": put(surplus="1", opts='{"surplus":true}'),
}

NO_HASH: dict[str, Damage] = {
    "a string": lambda redis, key: redis.set(key, "text"),
    "a list": lambda redis, key: redis.rpush(key, "a"),
    "a sorted set": lambda redis, key: redis.zadd(key, {"a": 1}),
}


@pytest.fixture
def queue(redis_url: str, queue_name: str) -> Queue:
    return Queue(queue_name, url=redis_url)


def key(queue: Queue, name: str) -> str:
    return f"{queue.qualified_name}:{name}"


def surrounded(queue: Queue) -> tuple[str, list[str]]:
    """Add a job that will be damaged between two undamaged ones, all for one fetch; return its id and the other two."""
    first, middle, last = queue.add_bulk([{"name": "work", "data": n} for n in range(3)])
    return middle.id, [first.id, last.id]


def drain(queue: Queue, url: str) -> list[str]:
    """Run all jobs; return the ids of those that reached the handler."""
    seen: list[str] = []
    worker = Worker(queue.name, lambda job: seen.append(job.id), url=url, concurrency=5)
    worker.run(until="drained", max_seconds=20)
    return sorted(seen)


@pytest.mark.parametrize("wrong", FATAL)
def test_a_damaged_job_fails_with_a_reason_and_the_others_complete(wrong, queue, redis_url, redis):
    damage, reason = FATAL[wrong]
    damaged, sound = surrounded(queue)
    damage(redis, key(queue, damaged))
    assert drain(queue, redis_url) == sound
    counts = queue.get_job_counts("wait", "active", "completed", "failed")
    assert counts == {"wait": 0, "active": 0, "completed": 2, "failed": 1}
    said = redis.hget(key(queue, damaged), "failedReason")
    assert re.search(reason, said), said
    assert "oops" not in said, "payloads stay out of reasons"


@pytest.mark.parametrize("odd", HARMLESS)
def test_damaged_fields_that_have_a_default_do_not_fail_the_job(odd, queue, redis_url, redis):
    job_id, sound = surrounded(queue)
    HARMLESS[odd](redis, key(queue, job_id))
    assert drain(queue, redis_url) == sorted([job_id, *sound])
    assert redis.zcard(key(queue, "completed")) == 3
    assert redis.hget(key(queue, job_id), "returnvalue") == "null"


@pytest.mark.parametrize("kind", NO_HASH)
def test_a_job_key_that_is_not_a_hash_is_not_changed_and_the_others_complete(kind, queue, redis_url, redis, caplog):
    damaged, sound = surrounded(queue)
    redis.delete(key(queue, damaged))
    NO_HASH[kind](redis, key(queue, damaged))
    before = redis.dump(key(queue, damaged))
    assert drain(queue, redis_url) == sound
    assert redis.dump(key(queue, damaged)) == before
    assert redis.lrange(key(queue, "active"), 0, -1) == []
    assert f"{damaged} is not a job" in caplog.text


def test_an_id_without_a_hash_leaves_the_queue_with_a_warning_and_is_no_job(queue, redis_url, redis, caplog):
    """No listener hears of it, no result counts it, and nothing is written to its key."""
    gone, sound = surrounded(queue)
    redis.delete(key(queue, gone))
    reported: list[tuple[str, str]] = []
    worker = Worker(queue.name, lambda job: reported.append(("ran", job.id)), url=redis_url)
    for event in ("active", "completed", "failed", "error"):
        worker.on(event, lambda job, *_, event=event: reported.append((event, getattr(job, "id", str(job)))))
    stats = worker.run(until="drained", max_seconds=20)
    assert (stats.completed, stats.failed, stats.retried) == (2, 0, 0)
    assert {name for _, name in reported} == set(sound)
    assert list(redis.scan_iter(key(queue, f"{gone}*"))) == []
    assert queue.get_job_counts("wait", "active", "completed", "failed") == {
        "wait": 0, "active": 0, "completed": 2, "failed": 0,
    }  # fmt: skip
    warnings = [record for record in caplog.records if "is not a job" in record.message]
    assert [(record.levelname, gone in record.message) for record in warnings] == [("WARNING", True)]


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_job_whose_hash_is_deleted_after_it_was_claimed_ahead_is_none_any_more(queue, redis_url, redis, attempts):
    """The write of its start makes no new hash, so that its outcome finds no job."""
    first, *others = queue.add_bulk([{"name": "work", "opts": {"attempts": attempts}}] * 6)
    hashes = [key(queue, job.id) for job in others]
    ran: list[str] = []

    def handler(job: Job) -> None:
        if job.id == first.id:
            redis.delete(*hashes)
        ran.append(job.id)
        if job.id != first.id:
            raise ValueError

    with Worker(queue.name, handler, url=redis_url, prefetch=20, autorun=True):
        wait_until(lambda: len(ran) == 6)
    assert redis.exists(*hashes) == 0
    counts = queue.get_job_counts("wait", "delayed", "completed", "failed")
    assert counts == {"wait": 0, "delayed": 0, "completed": 1, "failed": 0}


def test_a_worker_of_two_jobs_runs_two_beside_ids_without_a_hash(queue, redis_url, redis):
    """It looks further if all that it was given is no job."""
    jobs = queue.add_bulk([{"name": "work"}] * 12)
    redis.delete(*(key(queue, job.id) for job in jobs[:10]))
    ran: list[str] = []
    stats = Worker(queue.name, lambda job: ran.append(job.id), url=redis_url).run(max_jobs=2, max_seconds=20)
    assert (ran, stats.completed) == ([jobs[10].id, jobs[11].id], 2)


def test_a_job_taken_by_hand_is_the_next_one_that_has_a_hash(queue, redis_url, redis, caplog):
    jobs = queue.add_bulk([{"name": "work"}] * 6)
    redis.delete(*(key(queue, jobs[at].id) for at in (0, 1, 3, 4)))
    with Worker(queue.name, url=redis_url) as worker:
        first = worker.get_next_job("t", block=False)
        assert first is not None and first.id == jobs[2].id
        second = first.move_to_completed("done", fetch_next=True)
        assert second is not None and second.id == jobs[5].id
        second.move_to_completed("done")
        assert worker.get_next_job("t", block=False) is None
    assert queue.get_job_counts("wait", "active", "completed") == {"wait": 0, "active": 0, "completed": 2}
    for job in (jobs[0], jobs[1], jobs[3], jobs[4]):
        assert f"{job.id} is not a job: it has no hash" in caplog.text


@pytest.mark.parametrize("wrong", FATAL)
def test_a_batch_handler_gets_only_the_undamaged_jobs(wrong, queue, redis_url, redis):
    damaged, sound = surrounded(queue)
    FATAL[wrong][0](redis, key(queue, damaged))
    seen: list[str] = []

    def handle(jobs):
        seen.extend(job.id for job in jobs)
        return [None] * len(jobs)

    Worker(queue.name, batch_handler=handle, batch_size=10, url=redis_url).run(until="drained")
    assert sorted(seen) == sound
    assert queue.get_failed_count() == 1


@pytest.mark.parametrize("wrong", FATAL)
def test_an_asyncio_worker_continues_after_a_damaged_job(wrong, queue, redis_url, redis):
    damaged, sound = surrounded(queue)
    FATAL[wrong][0](redis, key(queue, damaged))
    seen: list[str] = []

    async def handle(job) -> None:
        seen.append(job.id)

    asyncio.run(aio.Worker(queue.name, handle, url=redis_url).run(until="drained"))
    assert sorted(seen) == sound
    assert queue.get_failed_count() == 1


def test_a_job_damaged_while_it_runs_does_not_stop_the_worker(queue, redis_url, redis):
    """Its hash is missing, or has another type, when the outcome comes."""
    jobs = queue.add_bulk([{"name": "work", "data": n} for n in range(4)])
    places = [key(queue, job.id) for job in jobs]

    def handle(job) -> None:
        redis.delete(places[0], places[1])
        redis.set(places[1], "text")

    worker = Worker(queue.name, handle, url=redis_url, concurrency=4, prefetch=0)
    assert worker.run(max_jobs=4).completed == 2
    assert sorted(redis.zrange(key(queue, "completed"), 0, -1)) == [jobs[2].id, jobs[3].id]


def test_a_result_that_is_no_json_fails_the_job_and_names_the_place(queue, redis_url, redis):
    jobs = queue.add_bulk([{"name": "work"}] * 3)
    results = {jobs[0].id: {"a": [1, object()]}, jobs[1].id: float("nan"), jobs[2].id: "fine"}
    Worker(queue.name, lambda job: results[job.id], url=redis_url).run(until="drained")
    reasons = [redis.hget(key(queue, job.id), "failedReason") for job in jobs]
    assert reasons[0].startswith("returnvalue.a[1]: object is not JSON")
    assert reasons[1].startswith("returnvalue: nan is not JSON")
    assert reasons[2] is None


@pytest.mark.parametrize("key", ["completed", "failed", "active"])
def test_outcomes_wait_while_a_key_of_the_queue_is_damaged(own_redis: Redis, server, key: str) -> None:
    """After the repair each job has run once: its outcome was kept, and no part of it was stored before."""
    runs: list[str] = []
    kept: dict[str, list[str]] = {"active": []}
    all_run = threading.Barrier(4)

    def handler(job: Job) -> None:
        runs.append(job.id)
        if all_run.wait(20) == 0:
            kept["active"] = own_redis.lrange("bull:work:active", 0, -1)
            own_redis.delete(f"bull:work:{key}")
            own_redis.set(f"bull:work:{key}", "damaged")
        all_run.wait(20)
        if job.name == "failing":
            raise ValueError

    queue = Queue("work", url=server.url)
    queue.add_bulk([{"name": "fine"}] * 2 + [{"name": "failing"}] * 2)
    reported: list[str] = []
    worker = Worker("work", handler, url=server.url, prefetch=0, concurrency=4)
    worker.on("error", lambda error: reported.append(str(error)))
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        wait_until(lambda: any("WRONGTYPE" in text for text in reported), "the worker logs that outcomes wait")
        own_redis.delete(f"bull:work:{key}")
        if key == "active":
            own_redis.rpush("bull:work:active", *kept["active"])
        wait_until(lambda: sum(queue.get_job_counts("completed", "failed").values()) >= 3, "all are finished")
        wait_until(lambda: queue.get_active_count() == 0, "nothing is active")
    finally:
        worker.close()
        working.join()
    assert sorted(runs) == ["1", "2", "3", "4"]
    assert {job.attempts_made for job in queue.get_jobs(["completed", "failed"])} == {1}
