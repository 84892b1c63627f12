"""Flows and deduplication: one side adds, the other one works, with old and new BullMQ."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from bullrush import FlowProducer, Job, Queue, WaitingChildrenError
from tests.interop.sides.node_process import NodeProcess
from tests.interop.sides.their_queue import TheirQueue
from tests.waiting import wait_until

from .our_worker import work_off


@pytest.fixture
def flows(redis_url: str) -> Iterator[FlowProducer]:
    with FlowProducer(url=redis_url) as flows:
        yield flows


@pytest.fixture
def child_name(queue_name: str) -> str:
    return f"{queue_name}-child"


@pytest.fixture
def their_children(node: NodeProcess, child_name: str) -> Iterator[TheirQueue]:
    queue = TheirQueue(node, child_name)
    yield queue
    queue.close()


@pytest.fixture
def our_children(redis_url: str, child_name: str) -> Iterator[Queue]:
    with Queue(child_name, url=redis_url) as queue:
        yield queue
        queue.obliterate(force=True)


def failing(text: str) -> dict[str, Any]:
    return {"runs": [[["throw", text]]]}


def test_our_flow_worked_by_node(
    flows: FlowProducer, ours: Queue, theirs: TheirQueue, our_children: Queue, their_children: TheirQueue
) -> None:
    tree = flows.add(
        {
            "name": "root",
            "queue_name": ours.name,
            "children": [
                {"name": "one", "queue_name": our_children.name, "data": {"n": 1}},
                {
                    "name": "two",
                    "queue_name": our_children.name,
                    "data": {"n": 2},
                    "children": [{"name": "deep", "queue_name": ours.name, "data": {"n": 3}}],
                },
            ],
        }
    )
    theirs.work()
    their_children.work()
    theirs.work()
    root = tree.job
    assert root.get_state() == "completed"
    values = theirs.on_job(root.id, "getChildrenValues")
    assert values == root.get_children_values()
    assert sorted(value["n"] for value in values.values()) == [1, 2]
    (deep,) = tree.children[1].children
    assert tree.children[1].job.get_children_values() == {f"bull:{ours.name}:{deep.job.id}": {"n": 3}}


def test_a_node_flow_worked_by_us(
    redis_url: str,
    ours: Queue,
    theirs: TheirQueue,
    our_children: Queue,
    their_children: TheirQueue,
    flows: FlowProducer,
) -> None:
    children = [
        {"name": f"c{n}", "queueName": our_children.name, "data": {"n": n}, "opts": {"jobId": f"c{n}"}}
        for n in range(3)
    ]
    theirs.add_flow({"name": "root", "queueName": ours.name, "data": {}, "opts": {"jobId": "r"}, "children": children})
    found = flows.get_flow(id="r", queue_name=ours.name)
    assert found is not None
    assert sorted(node.job.name for node in found.children) == ["c0", "c1", "c2"]

    def parent(job: Job) -> list[int]:
        return sorted(value["n"] for value in job.get_children_values().values())

    work_off(our_children.name, redis_url)
    work_off(ours.name, redis_url, parent)
    assert theirs.job("r")["returnvalue"] == [0, 1, 2]


@pytest.mark.parametrize("policy", ["fail_parent", "continue_parent", "ignore_dependency", "remove_dependency"])
def test_a_childs_failure_does_the_same_whoever_works(
    redis_url: str,
    flows: FlowProducer,
    ours: Queue,
    theirs: TheirQueue,
    our_children: Queue,
    their_children: TheirQueue,
    policy: str,
) -> None:
    ends = []
    for side in ("ours", "theirs"):
        root = flows.add(
            {
                "name": "root",
                "queue_name": ours.name,
                "opts": {"job_id": side},
                "children": [
                    {
                        "name": "bad",
                        "queue_name": our_children.name,
                        "data": failing("boom"),
                        "opts": {"job_id": f"bad-{side}", f"{policy}_on_failure": True},
                    }
                ],
            }
        ).job
        if side == "ours":
            work_off(our_children.name, redis_url)
            work_off(ours.name, redis_url)
        else:
            their_children.work()
            theirs.work()
        read = ours.get_job(root.id)
        assert read is not None
        ends.append(
            [read.get_state(), str(read.failed_reason).replace(side, ""), len(read.get_ignored_children_failures())]
        )
    assert ends[0] == ends[1]


def test_a_step_job_of_ours_waits_for_children_worked_by_node(
    redis_url: str, ours: Queue, our_children: Queue, their_children: TheirQueue
) -> None:
    def steps(job: Job) -> Any:
        if not job.data.get("spawned"):
            our_children.add("child", 7, parent={"id": job.id, "queue": job.queue_qualified_name})
            job.update_data({"spawned": True})
            if job.move_to_waiting_children():
                raise WaitingChildrenError
        return list(job.get_children_values().values())

    job = ours.add("steps", {})
    work_off(ours.name, redis_url, steps)
    assert job.get_state() == "waiting-children"
    their_children.work()
    work_off(ours.name, redis_url, steps)
    read = ours.get_job(job.id)
    assert read is not None
    assert read.returnvalue == [7]


def test_deduplication_across_clients(ours: Queue, theirs: TheirQueue) -> None:
    first = ours.add("work", {"by": "us"}, deduplication={"id": "d"})
    assert theirs.add("work", {"by": "them"}, deduplication={"id": "d"}) == first.id
    assert ours.add("work", {"by": "us"}, deduplication={"id": "d"}).id == first.id
    assert theirs.call("getDeduplicationJobId", "d") == ours.get_deduplication_job_id("d") == first.id
    assert first.deduplication_id == "d"
    theirs.work()
    assert ours.get_deduplication_job_id("d") is None
    second = theirs.add("work", {}, deduplication={"id": "d", "ttl": 60_000})
    assert ours.add("work", {}, deduplication={"id": "d"}).id == second
    assert first.remove_deduplication_key() is False
    owner = ours.get_job(second)
    assert owner is not None
    assert owner.remove_deduplication_key() is True


KEEP = {"id": "d", "keepLastIfActive": True}
OUR_KEEP: Any = {"id": "d", "keep_last_if_active": True}


def parked_fields(redis: Any, queue: Queue) -> dict[str, str]:
    fields: dict[str, str] = redis.hgetall(f"bull:{queue.name}:dn:d")
    return fields


@pytest.mark.parametrize("opts", [{}, {"priority": 3}, {"delay": 60_000}, {"attempts": 2, "lifo": True}])
def test_keep_last_if_active_stores_the_last_job_as_node_does(
    redis: Any, ours: Queue, new: TheirQueue, opts: dict[str, Any]
) -> None:
    both = []
    for side in ("ours", "theirs"):
        ours.add("owner", {}, deduplication=OUR_KEEP)
        taken = new.node.call("fetch", at=new._at, token="t", worker={})
        if side == "ours":
            ours.add("late", {"n": 1}, deduplication=OUR_KEEP, **opts)
        else:
            new.add("late", {"n": 1}, deduplication=KEEP, **opts)
        parked = parked_fields(redis, ours)
        both.append({**parked, "jid": "", "opts": json.loads(parked["opts"])})
        assert redis.ttl(f"bull:{ours.name}:de:d") == -1
        new.node.call("complete", at=new._at, worker={}, jobId=taken["id"], value=1, token="t", fetchNext=False)
        id = parked["jid"]
        assert ours.get_deduplication_job_id("d") == id
        ours.obliterate(force=True)
        redis.delete(f"bull:{ours.name}:de:d")
    assert both[0] == both[1]


@pytest.mark.parametrize("opts", [{}, {"priority": 3}, {"delay": 60_000}, {"attempts": 2, "lifo": True}])
@pytest.mark.parametrize("parks", ["ours", "theirs"])
@pytest.mark.parametrize("failed", [False, True])
def test_the_stored_last_job_is_added_when_our_worker_finishes_the_active_one(
    redis: Any, redis_url: str, ours: Queue, new: TheirQueue, opts: dict[str, Any], parks: str, failed: bool
) -> None:
    owner = ours.add("owner", {}, deduplication=OUR_KEEP)

    def park(job: Job) -> None:
        if job.id == owner.id:
            for n in range(2):
                if parks == "ours":
                    assert ours.add("late", {"n": n}, deduplication=OUR_KEEP, **opts).id == owner.id
                else:
                    assert new.add("late", {"n": n}, deduplication=KEEP, **opts) == owner.id
            if failed:
                raise RuntimeError("boom")

    work_off(ours.name, redis_url, park, max_jobs=1)
    assert owner.get_state() == ("failed" if failed else "completed")
    assert parked_fields(redis, ours) == {}
    late = wait_until(lambda: ours.get_job(ours.get_deduplication_job_id("d") or ""))
    assert (late.name, late.data, late.deduplication_id) == ("late", {"n": 1}, "d")
    state = "delayed" if "delay" in opts else "prioritized" if "priority" in opts else "waiting"
    assert late.get_state() == state
    assert {name: value for name, value in late.opts.items() if name in opts} == opts
