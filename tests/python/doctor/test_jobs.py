"""BR104 and BR201 to BR207: faults that only ``deep`` finds."""

from collections.abc import Callable

import pytest
from redis import Redis

from bullrush import FlowProducer, Queue, Worker
from bullrush.doctor import Doctor, Finding
from tests.python.doctor.test_queues import repaired

Findings = Callable[..., list[Finding]]


@pytest.fixture
def worked(queue: Queue, redis_url: str) -> Queue:
    """A queue with jobs in most states: 1 to 4 completed, 5 failed, 6 delayed, 7 prioritized, 8 and 9 waiting."""

    def handle(job):
        if job.name == "broken":
            raise ValueError("broken")

    queue.add_bulk([{"name": "send"} for _ in range(4)])
    queue.add("broken")
    with Worker(queue.name, handle, url=redis_url) as worker:
        worker.run(until="empty")
    queue.add("send", delay=3_600_000)
    queue.add("send", priority=1)
    queue.add_bulk([{"name": "send"} for _ in range(2)])
    return queue


def test_a_queue_with_jobs_in_all_states_has_no_finding(worked: Queue, findings: Findings, redis: Redis) -> None:
    worked.add("send", job_id="a:b:c")
    worked.upsert_job_scheduler("often", {"every": 60_000})
    redis.hset(worked.to_key("notes"), "of", "another program")
    assert findings(deep=True) == []


def test_waiting_jobs_in_no_list_are_named(worked: Queue, findings: Findings, redis: Redis) -> None:
    redis.lrem(worked.to_key("wait"), 1, "8")
    redis.zrem(worked.to_key("delayed"), "6")
    assert findings() == []
    [finding] = findings(deep=True)
    assert (finding.code, set(finding.ids)) == ("BR201", {"6", "8"})


def test_finished_jobs_in_no_set_are_removed(worked: Queue, doctor: Doctor, findings: Findings, redis: Redis) -> None:
    redis.zrem(worked.to_key("completed"), "2", "3")
    redis.zrem(worked.to_key("failed"), "5")
    assert repaired(doctor, findings, "BR202", deep=True)
    assert redis.exists(*(worked.to_key(id) for id in "235")) == 0
    assert redis.exists(*(worked.to_key(id) for id in "146789")) == 6


def test_ids_without_a_job_are_removed(worked: Queue, doctor: Doctor, findings: Findings, redis: Redis) -> None:
    redis.delete(worked.to_key("8"), worked.to_key("6"), worked.to_key("4"))
    assert repaired(doctor, findings, "BR203", deep=True)
    assert worked.get_job_counts("waiting", "delayed", "completed") == {
        "waiting": 1, "delayed": 0, "completed": 3, "paused": 0
    }  # fmt: skip


def test_a_job_in_two_places_is_named(worked: Queue, findings: Findings, redis: Redis) -> None:
    redis.zadd(worked.to_key("delayed"), {"8": 1 << 53})
    [finding] = findings(deep=True)
    assert (finding.code, finding.ids) == ("BR204", ("8",))
    assert finding.detail == "1 job: 8 in wait and in delayed"


@pytest.fixture
def family(queue: Queue, redis_url: str) -> tuple[str, list[str]]:
    """The ids of a parent and of its two children, all in the test's queue."""
    with FlowProducer(url=redis_url) as flows:
        tree = flows.add(
            {
                "name": "parent",
                "queue_name": queue.name,
                "children": [{"name": "child", "queue_name": queue.name} for _ in range(2)],
            }
        )
    return tree.job.id, [child.job.id for child in tree.children]


def test_a_parent_that_waits_for_a_child_that_is_gone_is_named(
    queue: Queue, family: tuple[str, list[str]], findings: Findings, redis: Redis
) -> None:
    parent, (child, _) = family
    assert findings(deep=True) == []
    redis.delete(queue.to_key(child))
    redis.lrem(queue.to_key("wait"), 1, child)
    [finding] = findings(deep=True)
    assert (finding.code, finding.ids) == ("BR205", (parent,))


def test_children_whose_parent_is_gone_are_named(
    queue: Queue, family: tuple[str, list[str]], findings: Findings, redis: Redis
) -> None:
    parent, children = family
    redis.delete(queue.to_key(parent), queue.to_key(f"{parent}:dependencies"))
    redis.zrem(queue.to_key("waiting-children"), parent)
    [finding] = findings(deep=True)
    assert (finding.code, set(finding.ids)) == ("BR206", set(children))


def test_a_queue_that_is_worked_meanwhile_has_no_finding(queue: Queue, findings: Findings, redis_url: str) -> None:
    queue.add_bulk([{"name": "send", "opts": {"remove_on_complete": {"count": 100}}} for _ in range(5_000)])
    with Worker(queue.name, lambda job: None, url=redis_url, autorun=True, concurrency=10):
        while queue.get_job_counts("waiting")["waiting"]:
            assert findings(deep=True) == []


def test_deduplication_ids_of_jobs_that_are_gone_are_freed(
    queue: Queue, doctor: Doctor, findings: Findings, redis: Redis
) -> None:
    for id in ("kept", "lost", "short"):
        queue.add("send", job_id=f"{id}-job", deduplication={"id": id, **({"ttl": 60_000} if id == "short" else {})})
    assert findings(deep=True) == []
    for id in ("lost", "short"):
        redis.delete(queue.to_key(f"{id}-job"))
        redis.lrem(queue.to_key("wait"), 1, f"{id}-job")
    [finding] = findings(deep=True)
    assert (finding.code, finding.ids) == ("BR207", ("lost",))
    assert repaired(doctor, findings, "BR207", deep=True)
    assert queue.get_deduplication_job_id("kept") == "kept-job"


def test_a_job_that_is_no_hash_is_named_and_hides_nothing_else(worked: Queue, findings: Findings, redis: Redis) -> None:
    redis.lrem(worked.to_key("wait"), 1, "8")
    redis.set(worked.to_key("9"), "mine")
    assert {finding.code: finding.ids for finding in findings(deep=True)} == {"BR104": ("9",), "BR201": ("8",)}


def test_keys_of_another_type_beside_the_jobs_are_named_and_hide_nothing_else(
    worked: Queue, findings: Findings, redis: Redis, redis_url: str
) -> None:
    with FlowProducer(url=redis_url) as flows:
        flows.add(
            {
                "name": "parent",
                "queue_name": worked.name,
                "opts": {"job_id": "parent"},
                "children": [{"name": "child", "queue_name": worked.name}],
            }
        )
    redis.delete(worked.to_key("parent:dependencies"))
    for part in ("parent:dependencies", "8:logs", "8:processed", "repeat:often", "ext:run-1"):
        redis.set(worked.to_key(part), "mine")
    redis.hset(worked.to_key("8:lock"), "of", "another program")
    redis.hset(worked.to_key("de:8:lock"), "of", "another program")
    redis.lrem(worked.to_key("wait"), 1, "8")
    other_type, lost = findings(deep=True)
    assert (other_type.code, lost.code, lost.ids) == ("BR104", "BR201", ("8",))
    assert other_type.detail == (
        "7 keys: 8:lock is a hash, not a string; 8:logs is a string, not a list; 8:processed is a string, not a hash; "
        "de:8:lock is a hash, not a string; ext:run-1 is a string, not a list"
    )


def test_keys_of_the_right_type_beside_the_jobs_are_no_finding(worked: Queue, findings: Findings, redis: Redis) -> None:
    worked.add("send", job_id="a:b:lock")
    worked.add("send", deduplication={"id": "8:logs"})
    worked.upsert_job_scheduler("with:colon", {"every": 60_000})
    for part in ("a:b:lock:lock", "8:lock", "ext:enq-1"):
        redis.set(worked.to_key(part), "1")
    for part in ("8:processed", "8:failed"):
        redis.hset(worked.to_key(part), "bull:other:1", "1")
    redis.rpush(worked.to_key("8:logs"), "row")
    assert findings(deep=True) == []


def test_scores_that_are_no_times_are_no_obstacle(worked: Queue, doctor: Doctor, redis: Redis) -> None:
    redis.zadd(worked.to_key("delayed"), {"6": "-inf"})
    redis.zadd(worked.to_key("completed"), {"1": "inf"})
    redis.zadd(worked.to_key("repeat"), {"strange": "-inf"})
    assert doctor.examine([worked.name], deep=True).skipped == []
