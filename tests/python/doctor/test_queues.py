"""BR101 to BR117: each fault that is planted in a queue is named, and repaired where that is safe."""

from typing import Any

import pytest
from redis import Redis

from bullrush import Job, LegacyQueue, Queue, QueueEvents, Worker
from bullrush._core import now_ms
from bullrush.doctor import Doctor
from tests.python.doctor.conftest import LONG_AGO, Findings, add_long_ago, codes, repaired
from tests.waiting import wait_until


def test_a_queue_in_use_has_no_finding(queue: Queue, findings: Findings, redis_url: str) -> None:
    queue.add_bulk([{"name": "send"} for _ in range(20)])
    queue.add("send", priority=3)
    queue.add("send", delay=3_600_000)
    queue.upsert_job_scheduler("often", {"every": 3_600_000})
    with (
        QueueEvents(queue.name, url=redis_url),
        Worker(queue.name, lambda job: None, url=redis_url, name="one") as worker,
    ):
        worker.run(until="empty")
        assert findings(deep=True) == []
    queue.pause()
    queue.add("send")
    assert findings(deep=True) == []


def test_keys_of_bull_are_named(queue: Queue, findings: Findings, redis: Redis) -> None:
    add_long_ago(queue)
    redis.hset(
        queue.to_key("77"), mapping={"data": "{}", "opts": '{"attempts":1,"delay":0,"timestamp":1}', "attemptsMade": 0}
    )
    redis.set(queue.to_key("meta-paused"), "1")
    assert codes(findings()) == ["BR101"], "that no worker is there is no advice to start one"
    redis.delete(queue.to_key("meta-paused"), queue.to_key("77"))
    assert codes(findings()) == ["BR107"]


def test_a_place_in_wait_without_a_job_has_no_age(queue: Queue, findings: Findings, redis: Redis) -> None:
    [job] = add_long_ago(queue)
    redis.delete(queue.to_key(job))
    health = queue.health()
    assert (health.problems, health.oldest_due_age) == (("stuck",), None)
    for deep in (False, True):
        [finding] = findings(deep=deep)
        assert (finding.code, finding.ids) == ("BR203", (job,))
    later, _ = add_long_ago(queue, 2)
    redis.lrem(queue.to_key("wait"), 1, later)
    redis.rpush(queue.to_key("wait"), later)
    assert codes(findings()) == ["BR107"]
    assert codes(findings(deep=True)) == ["BR107", "BR203"]


def test_jobs_of_two_versions_in_a_paused_queue_are_joined(
    queue: Queue, doctor: Doctor, findings: Findings, redis
) -> None:
    queue.add("first")
    queue.pause()
    redis.lpush(queue.to_key("wait"), "2")  # BullMQ 6 adds there
    redis.hset(queue.to_key("2"), mapping={"name": "second", "data": "{}", "opts": "{}", "timestamp": now_ms()})
    assert repaired(doctor, findings, "BR102")
    assert redis.lrange(queue.to_key("paused"), 0, -1) == ["2", "1"]


def test_jobs_that_a_pause_left_are_resumed(queue: Queue, doctor: Doctor, findings: Findings, redis) -> None:
    queue.add("first")
    queue.pause()
    redis.hdel(queue.to_key("meta"), "paused")
    assert repaired(doctor, findings, "BR103")
    assert redis.lrange(queue.to_key("wait"), 0, -1) == ["1"]


@pytest.mark.parametrize("code", ["BR102", "BR103"])
def test_jobs_in_two_lists_are_reported_with_the_version_of_their_queue(
    queue: Queue, findings: Findings, redis: Redis, code: str
) -> None:
    queue.add("first")
    queue.pause()
    if code == "BR102":
        redis.lpush(queue.to_key("wait"), "2")
    else:
        redis.hdel(queue.to_key("meta"), "paused")
    redis.hset(queue.to_key("meta"), mapping={"version": "bullmq:6.7.0", "ext:compat": "5"})
    (detail,) = [finding.detail for finding in findings() if finding.code == code]
    assert "written by bullmq:6.7.0" in detail and "treat it as BullMQ 5" in detail


def test_a_key_of_another_type_is_named(queue: Queue, findings: Findings, redis: Redis) -> None:
    queue.wait_until_ready()
    for part in ("wait", "repeat", "metrics:completed", "metrics:failed:data", "ext:workers"):
        redis.set(queue.to_key(part), "mine")
    [finding] = findings(deep=True)
    assert finding.code == "BR104"
    assert finding.detail == (
        "repeat is a string, not a zset; wait is a string, not a list; metrics:completed is a string, not a hash; "
        "metrics:failed:data is a string, not a list; ext:workers is a string, not a hash"
    )


def test_a_queue_whose_meta_is_no_hash_is_found(queue: Queue, redis: Redis, redis_url: str) -> None:
    queue.add("send")
    redis.delete(queue.to_key("meta"))
    redis.set(queue.to_key("meta"), "mine")
    found = [finding for finding in Doctor(redis_url).examine().findings if finding.queue == queue.name]
    assert [(finding.code, finding.detail) for finding in found] == [("BR104", "meta is a string, not a hash")]


def test_the_key_of_priorities_is_deleted(queue: Queue, doctor: Doctor, findings: Findings, redis: Redis) -> None:
    queue.add("send")
    redis.zadd(queue.to_key("priority"), {"1": 1})
    assert repaired(doctor, findings, "BR105")


def test_a_rate_limit_without_end_is_removed(queue: Queue, doctor: Doctor, findings: Findings, redis: Redis) -> None:
    queue.add("send")
    redis.set(queue.to_key("limiter"), 10)
    assert repaired(doctor, findings, "BR106")
    queue.rate_limit(60_000)
    assert findings() == []


@pytest.mark.parametrize(
    "repeat",
    [
        {"every": 3_600_000},
        {"pattern": "0 * * * *", "tz": "UTC"},
        {"pattern": "0 * * * *", "tz": "UTC", "end_date": now_ms() + 7 * 86_400_000},
    ],
)
def test_a_broken_chain_of_a_scheduler_is_repaired(
    queue: Queue, doctor: Doctor, findings: Findings, redis: Redis, repeat: Any
) -> None:
    queue.upsert_job_scheduler("hourly", repeat, {"name": "report", "data": {"n": 1}, "opts": {"attempts": 3}})
    late = now_ms() - LONG_AGO
    for key in redis.keys(queue.to_key("repeat:hourly:*")):
        redis.delete(key)
    for part in ("delayed", "wait", "marker"):
        redis.delete(queue.to_key(part))
    redis.zadd(queue.to_key("repeat"), {"hourly": late})
    before = queue.get_job_scheduler("hourly")
    assert repaired(doctor, findings, "BR112")
    after = queue.get_job_scheduler("hourly")
    assert after.pop("next") > late == before.pop("next")
    for one in (before, after):
        one.pop("iteration_count", None), one.pop("offset", None)
    assert after == before
    [job] = queue.get_jobs(["delayed", "waiting"])
    assert (job.name, job.data, job.opts["attempts"]) == ("report", {"n": 1}, 3)


def test_a_scheduler_whose_next_job_is_gone_is_named_before_its_time(
    queue: Queue, doctor: Doctor, findings: Findings, redis: Redis
) -> None:
    queue.upsert_job_scheduler("nightly", {"pattern": "0 3 * * *", "tz": "UTC"}, {"name": "report"})
    assert findings() == []
    [key] = redis.keys(queue.to_key("repeat:nightly:*"))
    redis.delete(key)
    redis.delete(queue.to_key("delayed"), queue.to_key("marker"))
    assert repaired(doctor, findings, "BR112")
    assert redis.exists(key)


def test_a_scheduler_with_a_limit_is_not_called_fixable(
    queue: Queue, doctor: Doctor, findings: Findings, redis: Redis
) -> None:
    queue.upsert_job_scheduler("nightly", {"pattern": "0 3 * * *", "tz": "UTC"})
    queue.upsert_job_scheduler("thrice", {"pattern": "0 3 * * *", "tz": "UTC", "limit": 3})
    for key in redis.keys(queue.to_key("repeat:*:*")):
        redis.delete(key)
    redis.delete(queue.to_key("delayed"), queue.to_key("marker"))
    found = [(finding.code, finding.ids, finding.fixable) for finding in findings()]
    assert found == [("BR112", ("nightly",), True), ("BR112", ("thrice",), False)]
    assert doctor.repair(findings()[1]) == "there is no safe repair"
    assert doctor.repair(findings()[0]) is None
    assert [finding.ids for finding in findings()] == [("thrice",)]


def test_an_event_stream_that_is_too_short_is_named(
    queue: Queue, findings: Findings, redis: Redis, redis_url: str
) -> None:
    queue.add("send")
    redis.hset(queue.to_key("meta"), "opts.maxLenEvents", 200)
    for _ in range(300):
        redis.xadd(queue.to_key("events"), {"event": "drained"})
    assert findings() == []
    with QueueEvents(queue.name, url=redis_url) as events:
        events.wait_until_ready()
        wait_until(lambda: queue.get_queue_events())
        assert codes(findings()) == ["BR113"]
        redis.hset(queue.to_key("meta"), "opts.maxLenEvents", 0)
        assert codes(findings()) == ["BR113"]
        redis.hset(queue.to_key("meta"), "opts.maxLenEvents", 10_000)
        assert findings() == []


def test_finished_jobs_without_a_rule_are_named(
    queue: Queue, findings: Findings, redis: Redis, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bullrush.doctor.checks.keys._MANY", 10)
    for opts in ({}, {"remove_on_complete": {"count": 1_000}}):
        queue.add_bulk([{"name": "send", "opts": opts} for _ in range(10)])
        with Worker(queue.name, lambda job: None, url=redis_url) as worker:
            worker.run(until="empty")
        assert findings() == [], "they are young"
        ids = redis.zrange(queue.to_key("completed"), 0, 9)
        redis.zadd(queue.to_key("completed"), {id: now_ms() - 30 * 86_400_000 for id in ids})
        assert codes(findings()) == ([] if opts else ["BR114"])
        for id in ids:
            redis.zadd(queue.to_key("completed"), {id: now_ms() - 1_000})


def test_many_jobs_that_failed_are_named(queue: Queue, findings: Findings, redis: Redis, redis_url: str) -> None:
    def handle(job: Job) -> None:
        if job.name == "broken":
            raise ValueError

    queue.add_bulk([{"name": "broken"} for _ in range(100)])
    with Worker(queue.name, handle, url=redis_url) as worker:
        worker.run(until="empty")
        [finding] = findings()
        assert (finding.code, finding.severity) == ("BR116", "warning")
        assert finding.detail == "100 jobs failed in the last hour, and 0 that are kept completed"
        queue.add_bulk([{"name": "send"} for _ in range(901)])
        worker.run(until="empty")
    assert findings() == [], "it is less than a tenth"
    redis.delete(queue.to_key("completed"))
    redis.zadd(queue.to_key("failed"), {id: now_ms() - 7_200_000 for id in redis.zrange(queue.to_key("failed"), 0, -1)})
    assert findings() == [], "they are old"


@pytest.mark.parametrize("version", ["bullmq:4.17.0", "bullmq:7.0.1"])
def test_a_version_that_does_not_fit_is_named(queue: Queue, findings: Findings, redis: Redis, version: str) -> None:
    queue.add("send")
    redis.hset(queue.to_key("meta"), "version", version)
    [finding] = findings()
    assert finding.code == "BR115" and version in finding.detail


def test_a_queue_of_bull_that_has_moved_and_got_jobs_again_is_found(
    queue_name: str, redis: Redis, redis_url: str
) -> None:
    def found() -> list[tuple[str, str]]:
        return [(one.code, one.detail) for one in Doctor(redis_url).examine().findings if one.queue == queue_name]

    old, new = LegacyQueue(queue_name, url=redis_url, flavor="4"), Queue(queue_name, url=redis_url, prefix="moved")
    with old, new:
        old.migrate(new)
        assert found() == []
        old.add("late", priority=1)
        assert found() == [("BR117", f"1 job of Bull in a queue whose jobs go to moved:{queue_name}")]
        old.migrate(new)
        assert found() == []


def test_the_priorities_of_bull_are_not_those_of_bullmq_before_4(
    queue_name: str, doctor: Doctor, findings: Findings, redis: Redis, redis_url: str
) -> None:
    with LegacyQueue(queue_name, url=redis_url, flavor="4") as old:
        old.add("welcome", priority=1)
    assert findings() == []
    redis.xadd(f"bull:{queue_name}:events", {"event": "added"})
    [finding] = findings()
    assert (finding.code, finding.detail.partition(":")[0]) == ("BR101", "Bull 3.x or 4.x uses it")
    assert doctor.repair(finding) is not None and redis.exists(f"bull:{queue_name}:priority")
