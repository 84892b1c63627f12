"""Flows, schedulers and deduplicated jobs of Node, worked by us beside Node."""

import pytest

from tests.interop.sides.their_queue import TheirQueue
from tests.waiting import wait_until

from .our_worker import our_worker, work_off


@pytest.fixture
def children(node, queue_name):
    queue = TheirQueue(node, f"{queue_name}-child")
    yield queue
    queue.close()


def parent_with_children(queue_name, *children, **opts):
    return {
        "name": "parent",
        "queueName": queue_name,
        "data": {},
        "opts": {"jobId": "p", **opts},
        "children": [
            {"name": "child", "queueName": f"{queue_name}-child", "data": data, "opts": {"jobId": f"c{n}", **child}}
            for n, (data, child) in enumerate(children)
        ],
    }


BOOM = {"runs": [[["throw", "boom"]]]}


def test_our_children_release_their_parent(theirs, children, queue_name, redis_url):
    theirs.add_flow(parent_with_children(queue_name, ({"n": 0}, {}), ({"n": 1}, {})))
    work_off(f"{queue_name}-child", redis_url)
    assert theirs.call("getJobState", "p") == "waiting"
    values = theirs.on_job("p", "getChildrenValues")
    assert sorted(value["n"] for value in values.values()) == [0, 1]
    theirs.work()
    assert theirs.call("getJobState", "p") == "completed"


def test_their_children_release_a_parent_that_we_work(theirs, ours, children, queue_name, redis_url):
    theirs.add_flow(parent_with_children(queue_name, ({"n": 0}, {}), ({"n": 1}, {})))
    children.work()
    work_off(queue_name, redis_url)
    assert ours.get_job_state("p") == "completed"


@pytest.mark.parametrize("by_us", [True, False])
def test_a_failed_child_fails_its_parent_whoever_works_them(theirs, ours, children, queue_name, redis_url, by_us):
    theirs.add_flow(parent_with_children(queue_name, (BOOM, {"failParentOnFailure": True}), ({}, {})))
    if by_us:
        work_off(f"{queue_name}-child", redis_url)
        theirs.work()
    else:
        children.work()
        work_off(queue_name, redis_url)
    assert ours.get_job_state("p") == "failed"
    assert ours.get_job("p").failed_reason == f"child bull:{queue_name}-child:c0 failed"


@pytest.mark.parametrize(
    ("policy", "ignored"),
    [("ignoreDependencyOnFailure", 1), ("removeDependencyOnFailure", 0), ("continueParentOnFailure", 1)],
)
def test_a_child_that_may_fail_releases_its_parent(theirs, children, queue_name, redis_url, policy, ignored):
    theirs.add_flow(parent_with_children(queue_name, (BOOM, {policy: True})))
    work_off(f"{queue_name}-child", redis_url)
    assert theirs.call("getJobState", "p") == "waiting"
    assert len(theirs.on_job("p", "getIgnoredChildrenFailures")) == ignored


def test_a_scheduler_of_node_continues_with_our_worker(theirs, ours, queue_name, redis_url):
    with our_worker(queue_name, redis_url):
        theirs.call("upsertJobScheduler", "s1", {"every": 150, "limit": 4}, {"name": "tick", "data": {"n": 1}})
        wait_until(lambda: ours.get_completed_count() == 4)
    jobs = ours.get_completed()
    assert {(job.name, job.attempts_started) for job in jobs} == {("tick", 1)}
    assert sorted(job.opts["repeat"]["count"] for job in jobs) == [1, 2, 3, 4]


def test_a_scheduler_adds_each_job_once_when_both_sides_work_it(theirs, ours, queue_name, redis_url):
    with our_worker(queue_name, redis_url), theirs.worker():
        theirs.call("upsertJobScheduler", "s1", {"every": 100, "limit": 10}, {"name": "tick"})
        wait_until(lambda: ours.get_completed_count() == 10)
    counts = sorted(job.opts["repeat"]["count"] for job in ours.get_completed())
    assert counts == [*range(1, 11)]


def test_a_cron_scheduler_of_node_continues_with_our_worker(theirs, ours, queue_name, redis_url):
    theirs.call("upsertJobScheduler", "s1", {"pattern": "* * * * * *", "limit": 2}, {"name": "tick"})
    with our_worker(queue_name, redis_url):
        wait_until(lambda: ours.get_completed_count() == 2)
    times = sorted(int(job.id.rpartition(":")[2]) for job in ours.get_completed())
    assert times[0] % 1000 == 0
    assert times[1] - times[0] >= 1000


@pytest.mark.parametrize("data", [{"n": 1}, BOOM])
def test_a_deduplication_key_is_removed_when_our_worker_finishes_the_job(theirs, queue_name, redis_url, data):
    first = theirs.add("work", data, deduplication={"id": "d"})
    assert theirs.add("work", data, deduplication={"id": "d"}) == first
    work_off(queue_name, redis_url)
    assert theirs.add("work", data, deduplication={"id": "d"}) != first
