"""Flows: trees of jobs are added, read back and refused."""

import asyncio
import pickle
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from bullrush import FlowProducer, Job, JobNode, Queue, Worker, aio
from bullrush.errors import (
    ClosedError,
    DataError,
    InvalidOptionError,
    ParentNotFoundError,
    ParentReplacedError,
    QueueNameError,
    UnknownOptionError,
)


@pytest.fixture
def flows(redis_url: str) -> Iterator[FlowProducer]:
    with FlowProducer(url=redis_url) as flows:
        yield flows


def shape(node: JobNode[Any]) -> Any:
    """The names of a tree; siblings in alphabetical order."""
    return node.job.name, sorted(shape(child) for child in node.children)


@pytest.fixture
def tree(queue: Queue) -> Any:
    """A root with two children, one of which has a child."""

    def node(name: str, *children: Any, **opts: Any) -> Any:
        return {"name": name, "queue_name": queue.name, "data": {"i": name}, "opts": opts, "children": [*children]}

    return node("root", node("left", node("deep")), node("right", fail_parent_on_failure=True))


def test_a_flow_is_added_as_a_tree(flows: FlowProducer, queue: Queue, tree: Any) -> None:
    added = flows.add(tree)
    assert shape(added) == ("root", [("left", [("deep", [])]), ("right", [])])
    assert [node.job.name for node in added.children] == ["left", "right"]
    assert added.job.get_state() == "waiting-children"
    assert sorted(job.name for job in queue.get_waiting()) == ["deep", "right"]
    assert sorted(job.name for job in queue.get_waiting_children()) == ["left", "root"]


def test_jobs_of_a_flow_know_their_parent(flows: FlowProducer, queue: Queue, tree: Any) -> None:
    added = flows.add(tree)
    root, right = added.job, added.children[1].job
    read = queue.get_job(right.id)
    assert read is not None
    for job in (right, read):
        assert job.parent_key == f"bull:{queue.name}:{root.id}"
        assert job.parent == {"id": root.id, "queueKey": f"bull:{queue.name}", "fpof": True}
        assert job.opts == {
            "attempts": 0,
            "fail_parent_on_failure": True,
            "parent": {"id": root.id, "queue": f"bull:{queue.name}"},
        }
    assert root.parent is None
    assert uuid.UUID(root.id).version == 4


def test_a_parent_sees_the_results_of_its_children(
    flows: FlowProducer, worker: Callable[..., Worker], tree: Any
) -> None:
    def handler(job: Job) -> str:
        return job.name + "".join(sorted(job.get_children_values().values()))

    root = flows.add(tree).job
    worker(handler).run(until="empty")
    assert root.wait_until_finished(timeout=5000) == "rootleftdeepright"


def test_a_flow_is_read_back(flows: FlowProducer, queue: Queue, tree: Any) -> None:
    root = flows.add(tree).job
    found = flows.get_flow(id=root.id, queue_name=queue.name)
    assert found is not None
    assert shape(found) == ("root", [("left", [("deep", [])]), ("right", [])])
    assert found.job.data == {"i": "root"}
    assert flows.get_flow(id="nobody", queue_name=queue.name) is None


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (1, ("root", [])),
        (2, ("root", [("left", []), ("right", [])])),
        (3, ("root", [("left", [("deep", [])]), ("right", [])])),
    ],
)
def test_a_flow_is_read_to_a_depth(flows: FlowProducer, queue: Queue, tree: Any, depth: int, expected: Any) -> None:
    found = flows.get_flow(id=flows.add(tree).job.id, queue_name=queue.name, depth=depth)
    assert found is not None
    assert shape(found) == expected


def test_a_part_of_many_children_is_read(flows: FlowProducer, queue: Queue) -> None:
    children: list[Any] = [{"name": f"c{n}", "queue_name": queue.name} for n in range(50)]
    root = flows.add({"name": "root", "queue_name": queue.name, "children": children}).job
    found = flows.get_flow(id=root.id, queue_name=queue.name, max_children=7)
    assert found is not None
    assert len(found.children) == 7


def test_finished_and_removed_children_are_read(
    flows: FlowProducer, queue: Queue, worker: Callable[..., Worker]
) -> None:
    policies = ["fail_parent", "ignore_dependency", "none"]
    children: list[Any] = [
        {"name": name, "queue_name": queue.name, "opts": {f"{name}_on_failure": True} if name != "none" else {}}
        for name in policies
    ]
    added = flows.add(
        {"name": "root", "queue_name": queue.name, "children": [*children, {**children[2], "name": "gone"}]}
    )

    def handler(job: Job) -> None:
        if job.name != "none":
            raise RuntimeError("boom")

    added.children[3].job.remove()
    worker(handler).run(until="empty")
    found = flows.get_flow(id=added.job.id, queue_name=queue.name)
    assert found is not None
    assert sorted(node.job.name for node in found.children) == sorted(policies)
    assert found.job.failed_reason == f"child bull:{queue.name}:{added.children[0].job.id} failed"


def test_prefixes_and_ids_with_colons_are_read(redis_url: str, queue_name: str) -> None:
    with FlowProducer(url=redis_url, prefix="my:own") as flows:
        child: Any = {"name": "child", "queue_name": queue_name, "opts": {"job_id": "a:b:c"}}
        other: Any = {**child, "prefix": "other", "name": "other"}
        flows.add({"name": "root", "queue_name": queue_name, "opts": {"job_id": "r"}, "children": [child, other]})
        found = flows.get_flow(id="r", queue_name=queue_name)
        assert found is not None
        assert shape(found) == ("root", [("child", []), ("other", [])])
        assert {node.job.prefix for node in found.children} == {"my:own", "other"}


def test_queue_options_give_defaults_to_the_jobs_of_a_flow(flows: FlowProducer, queue: Queue) -> None:
    child: Any = {"name": "child", "queue_name": queue.name, "opts": {"attempts": 2}}
    options: Any = {queue.name: {"default_job_options": {"attempts": 7, "priority": 3}}}
    added = flows.add({"name": "root", "queue_name": queue.name, "children": [child]}, queues_options=options)
    assert added.job.opts["attempts"] == 7
    assert (added.children[0].job.opts["attempts"], added.children[0].job.priority) == (2, 3)


def test_all_flows_of_a_bulk_are_added_or_none(flows: FlowProducer, queue: Queue, redis: Redis, tree: Any) -> None:
    lost: Any = {**tree, "opts": {"parent": {"id": "gone", "queue": queue.qualified_name}}}
    with pytest.raises(ParentNotFoundError, match=f"Missing key for parent job bull:{queue.name}:gone. addJob"):
        flows.add_bulk([tree, lost])
    assert not redis.exists(f"bull:{queue.name}:id")
    assert [shape(node)[0] for node in flows.add_bulk([tree, tree])] == ["root", "root"]
    assert flows.add_bulk([]) == []


def test_a_child_of_another_parent_keeps_it_and_the_producer_gets_an_error(flows: FlowProducer, queue: Queue) -> None:
    child: Any = {"name": "child", "queue_name": queue.name, "opts": {"job_id": "c"}}
    other: Any = {"name": "other", "queue_name": queue.name}
    first = flows.add({"name": "one", "queue_name": queue.name, "children": [child]})
    second = flows.add({"name": "two", "queue_name": queue.name, "children": [child, other]})
    assert [node.attached for node in first.children] == [True]
    assert [node.attached for node in second.children] == [False, True]
    assert second.job.get_dependencies_count()["unprocessed"] == 1


def test_a_root_that_has_another_parent_is_refused(flows: FlowProducer, queue: Queue) -> None:
    root: Any = {"name": "root", "queue_name": queue.name, "opts": {"job_id": "r"}}
    flows.add({"name": "one", "queue_name": queue.name, "opts": {"job_id": "p"}, "children": [root]})
    queue.add("two", {}, job_id="q")
    root["opts"]["parent"] = {"id": "q", "queue": queue.qualified_name}
    with pytest.raises(ParentReplacedError, match=f"The parent job bull:{queue.name}:q cannot be replaced. addJob"):
        flows.add(root)


def test_a_parent_does_not_wait_for_a_deduplicated_child(flows: FlowProducer, queue: Queue) -> None:
    first = queue.add("child", {}, deduplication={"id": "d"})
    child: Any = {"name": "child", "queue_name": queue.name, "opts": {"deduplication": {"id": "d"}}}
    added = flows.add({"name": "root", "queue_name": queue.name, "children": [child]})
    assert (added.children[0].job.id, added.children[0].attached) == (first.id, False)
    assert added.job.get_state() == "waiting"


def test_a_flow_can_have_ten_thousand_children(flows: FlowProducer, queue: Queue) -> None:
    children: list[Any] = [{"name": "c", "queue_name": queue.name, "data": n} for n in range(10_000)]
    root = flows.add({"name": "root", "queue_name": queue.name, "children": children})
    assert queue.get_job_counts("waiting", "waiting-children") == {
        "waiting": 10_000,
        "paused": 0,
        "waiting-children": 1,
    }
    assert root.job.get_dependencies_count()["unprocessed"] == 10_000


def test_a_flow_that_would_block_redis_for_too_long_is_refused(flows: FlowProducer, queue: Queue, redis: Redis) -> None:
    children: list[Any] = [{"name": "c", "queue_name": queue.name}] * 20_000
    with pytest.raises(InvalidOptionError, match=r"A flow may have 20,000 jobs.*Queue.add_bulk\(\) with parent="):
        flows.add({"name": "root", "queue_name": queue.name, "children": children})
    assert not redis.exists(f"bull:{queue.name}:id")


def test_a_flow_can_be_a_long_chain(flows: FlowProducer, queue: Queue) -> None:
    chain: Any = {"name": "first", "queue_name": queue.name}
    for _ in range(2000):
        chain = {"name": "next", "queue_name": queue.name, "children": [chain]}
    flows.add(chain)
    assert queue.get_job_counts("waiting-children") == {"waiting-children": 2000}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"queueName": "q"}, UnknownOptionError, "use 'queue_name'"),
        ({"child": []}, UnknownOptionError, "Did you mean 'children'?"),
        ({"queue_name": None}, QueueNameError, "Queue name must be provided"),
        ({"queue_name": "a:b"}, QueueNameError, "Queue name cannot contain :"),
        ({"name": None}, InvalidOptionError, "Job name must be a str"),
        ({"prefix": ""}, InvalidOptionError, "prefix must be"),
        ({"data": {1, 2}}, DataError, "data"),
        ({"opts": {"removeOnFail": True}}, UnknownOptionError, "use 'remove_on_fail'"),
        ({"opts": {"repeat": {"every": 1}}}, UnknownOptionError, r"use Queue.upsert_job_scheduler\(\)"),
        ({"opts": {"parent": {"id": "p"}}}, InvalidOptionError, "parent needs the id and the queue"),
        ({"opts": {"parent": {"id": "p", "queue": "q"}}}, InvalidOptionError, "such as 'bull:q'"),
        (
            {"opts": {"fail_parent_on_failure": True, "remove_dependency_on_failure": True}},
            InvalidOptionError,
            "The following options cannot be used together: removeDependencyOnFailure, failParentOnFailure",
        ),
        (
            {"opts": {"deduplication": {"id": "d"}}, "children": [{"name": "c", "queue_name": "c"}]},
            InvalidOptionError,
            "Deduplication options cannot be used on flow nodes with children",
        ),
        (
            {"children": [{"name": "c", "queue_name": "c", "opts": {"parent": {"id": "p", "queue": "bull:q"}}}]},
            InvalidOptionError,
            "The parent of job 'c' is the job above it",
        ),
        ({"children": {"name": "c"}}, InvalidOptionError, "children must be a list of flows, not dict"),
        ({"children": ["c"]}, InvalidOptionError, "A flow is a dict of name, queue_name, data..., not str"),
    ],
)
def test_a_value_that_is_not_a_flow_is_refused(
    flows: FlowProducer, queue: Queue, redis: Redis, change: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        flows.add({"name": "root", "queue_name": queue.name, **change})
    assert not redis.exists(f"bull:{queue.name}:id")


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"opts": {"delay": "soon"}}, InvalidOptionError, "delay must be"),
        ({"queue_name": ""}, QueueNameError, "Queue name must be provided"),
        ({"data": {"a": {1}}}, DataError, "data.a"),
        ({"retries": 3}, UnknownOptionError, "A flow has no option 'retries': it belongs into opts"),
    ],
)
def test_an_error_says_which_job_of_the_flow_is_wrong(wrong: Any, error: type[Exception], message: str) -> None:
    def node(name: str, *children: Any, **changes: Any) -> Any:
        return {"name": name, "queue_name": "q", "children": [*children], **changes}

    flows = FlowProducer(url="redis://127.0.0.1:1")
    with pytest.raises(error) as root:
        flows.add(node("film", **wrong))
    assert str(root.value).startswith(message)
    with pytest.raises(error) as child:
        flows.add(node("film", node("cut"), node("render", **wrong)))
    assert str(child.value).startswith(f"child 2 of 'film': {message}")
    with pytest.raises(error) as grandchild:
        flows.add(node("film", node("cut"), node("render", node("frame", **wrong))))
    assert str(grandchild.value).startswith(f"child 1 of 'film' > 'render': {message}")
    with pytest.raises(error) as one_of_many:
        flows.add_bulk([node("film"), node("clip", node("frame", **wrong)), node("end")])
    assert str(one_of_many.value).startswith(f"flow 2, child 1 of 'clip': {message}")


def test_a_closed_producer_raises_closed_error(redis_url: str, tree: Any) -> None:
    flows = FlowProducer(url=redis_url)
    flows.close()
    assert flows.closing is True
    with pytest.raises(ClosedError):
        flows.add(tree)


def test_a_producer_pickles_as_its_configuration(redis_url: str, tree: Any) -> None:
    flows = pickle.loads(pickle.dumps(FlowProducer(url=redis_url, prefix="mine")))
    assert flows.add(tree).job.prefix == "mine"


def test_a_producer_does_not_write_the_settings_of_queues(flows: FlowProducer, redis: Redis, queue_name: str) -> None:
    flows.wait_until_ready()
    flows.add({"name": "root", "queue_name": queue_name})
    assert redis.hgetall(f"bull:{queue_name}:meta") == {"opts.maxLenEvents": "10000"}


async def _awaited(url: str, tree: Any) -> None:
    async with aio.FlowProducer(url=url) as flows:
        added = await flows.add(tree)
        assert await added.job.get_state() == "waiting-children"
        found = await flows.get_flow(id=added.job.id, queue_name=tree["queue_name"])
        assert found is not None
        assert shape(found) == shape(added)


def test_flows_work_with_asyncio(redis_url: str, tree: Any) -> None:
    asyncio.run(_awaited(redis_url, tree))
