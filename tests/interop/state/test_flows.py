"""Flows added and worked by us leave the state of BullMQ, across queues and prefixes."""

from typing import Any

import pytest

from tests.interop.peers import Peer
from tests.interop.sides.pair import Pair
from tests.interop.sides.results import Failed

POLICIES: list[dict[str, Any]] = [
    {},
    {"failParentOnFailure": True},
    {"continueParentOnFailure": True},
    {"ignoreDependencyOnFailure": True},
    {"removeDependencyOnFailure": True},
    {"failParentOnFailure": False, "ignoreDependencyOnFailure": True},
]


@pytest.fixture(params=["scripts", "api"])
def either(request: pytest.FixtureRequest, peer: Peer) -> Pair:
    """Real BullMQ beside our scripts, then beside bullrush job by job; both on a stopped clock."""
    pair: Pair = request.getfixturevalue("pair" if request.param == "scripts" else "manual_pair")
    return pair


def node(id: str, queue: str, *children: Any, **opts: Any) -> dict[str, Any]:
    """A job of a flow in this queue of the pair, such as ``child``, or ``other/child`` with another prefix."""
    flow = {"name": f"job {id}", "queueName": f"@{queue}", "data": {"of": id}, "opts": {"jobId": id, **opts}}
    return {**flow, "children": list(children)} if children else flow


def parent_with_children(*children: dict[str, Any], **opts: Any) -> dict[str, Any]:
    """A parent whose children, given by their options, are in the queue ``child``."""
    return node("p", "", *(node(f"c{n}", "child", **child) for n, child in enumerate(children)), **opts)


def grown(**policy: Any) -> dict[str, Any]:
    """Four generations over three queues and two prefixes."""
    return node(
        "root",
        "",
        node("a", "child", node("g1", "other/deep", **policy), node("g2", "", **policy), **policy),
        node("b", "other/deep", **policy),
        node("c", "child", node("d", "child", node("e", "", **policy), **policy), **policy),
    )


def run_dry(pair: Pair, *failing: str) -> None:
    """Work all queues until nothing can be fetched; the jobs of these ids fail."""
    queues = ["", "child", "other/deep"]
    ran = True
    while ran:
        ran = False
        for queue in queues:
            while id := pair.fetch("t:0", queue=queue):
                ran = True
                if id in failing:
                    pair.fail(id, "boom", "t:0", queue=queue)
                else:
                    pair.complete(id, {"of": id}, "t:0", queue=queue)


def test_a_tree_over_queues_and_prefixes(either: Pair) -> None:
    either.add_flow(grown())
    run_dry(either)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_failure_deep_in_a_tree(either: Pair, policy: dict[str, Any]) -> None:
    either.add_flow(grown(**policy))
    run_dry(either, "g1", "e", "b")


@pytest.mark.parametrize("opts", [{"delay": 5000}, {"priority": 3}, {"lifo": True}, {"attempts": 3, "backoff": 10}])
def test_options_of_parents_and_children(either: Pair, opts: dict[str, Any]) -> None:
    either.add("other", {})
    either.add_flow(parent_with_children(opts, {}, **opts))
    either.tick(5000)
    run_dry(either)
    either.tick(5000)
    run_dry(either)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("first", ["c0", "c1"])
def test_what_a_failed_child_does(either: Pair, policy: dict[str, Any], first: str) -> None:
    either.add_flow(parent_with_children(policy, {}))
    for id in ("c0", "c1"):
        either.fetch(f"t:{id}", queue="child")
    for id in (first, "c1" if first == "c0" else "c0"):
        if id == "c0":
            either.fail(id, "boom", "t:c0", queue="child")
        else:
            either.complete(id, 1, "t:c1", queue="child")
    if either.fetch("t:p") == "p":
        either.complete("p", "done", "t:p")


def test_a_flow_without_children_is_a_job(either: Pair) -> None:
    either.add_flow(node("p", ""))
    either.add_flow({**node("q", "child", priority=1), "children": []})


def test_a_flow_in_one_queue_while_it_is_paused(either: Pair) -> None:
    either.pause()
    either.add_flow(node("p", "", node("a", ""), node("b", "", delay=1000), node("c", "", priority=2)))
    either.resume()
    run_dry(either)


def test_many_flows_at_once(either: Pair) -> None:
    either.add_flows([parent_with_children({}), node("q", "child", node("d", "other/deep")), node("r", "")])


def test_defaults_of_a_queue_give_way_to_a_jobs_own_options(either: Pair) -> None:
    defaults = {"attempts": 5, "removeOnComplete": True, "priority": 2}
    either.add_flow(parent_with_children({"attempts": 2}, {}), {either.name("child"): {"defaultJobOptions": defaults}})


def test_the_root_of_a_flow_can_have_a_parent(either: Pair) -> None:
    either.add_flow(parent_with_children({}))
    parent = {"id": "p", "queue": "@"}
    either.add_flow(node("q", "child", node("d", "other/deep"), parent=parent, failParentOnFailure=True))
    run_dry(either)


def test_the_same_flow_again(either: Pair) -> None:
    tree = grown()
    either.add_flow(tree)
    either.add_flow(tree)
    run_dry(either)


@pytest.mark.parametrize("policy", POLICIES)
def test_children_join_a_parent_that_waits(either: Pair, policy: dict[str, Any]) -> None:
    either.add_flow(parent_with_children({}))
    parent = {"id": "p", "queue": "@"}
    either.add("late", {}, jobId="d", parent=parent, queue="child", **policy)
    either.add("delayed", {}, jobId="e", parent=parent, queue="other/deep", delay=1000, **policy)
    either.add("prioritized", {}, jobId="f", parent=parent, priority=1, **policy)
    either.tick(1000)
    run_dry(either, "d", "e")


@pytest.mark.parametrize("finish", ["wait", "active", "completed", "failed"])
def test_a_child_joins_a_parent_in_any_state(either: Pair, finish: str) -> None:
    either.add("parent", {}, jobId="p")
    if finish != "wait":
        either.fetch("t:p")
    if finish == "completed":
        either.complete("p", 1, "t:p")
    if finish == "failed":
        either.fail("p", "boom", "t:p")
    either.add("child", {}, parent={"id": "p", "queue": "@"}, queue="child")
    if finish == "active":
        assert either.complete("p", 1, "t:p").code == -4


@pytest.mark.parametrize("own", ["none", "same", "dead"])
@pytest.mark.parametrize("state", ["wait", "completed", "failed"])
def test_a_job_that_exists_gets_a_parent(either: Pair, own: str, state: str) -> None:
    either.add_flow(parent_with_children({}))
    parent = {"parent": {"id": "p", "queue": "@"}}
    if own == "dead":
        either.add("first parent", {}, jobId="x", queue="other/deep")
        either.add("work", {}, jobId="c", queue="child", parent={"id": "x", "queue": "@other/deep"})
        either.remove("x", False, queue="other/deep")
    else:
        either.add("work", {}, jobId="c", queue="child", **(parent if own == "same" else {}))
    if state != "wait":
        either.fetch("t:0", queue="child")
        either.fetch("t:c", queue="child")
    if state == "completed":
        either.complete("c", {"n": 1}, "t:c", queue="child")
    if state == "failed":
        either.fail("c", "boom", "t:c", queue="child")
    either.add("other name", {}, jobId="c", queue="child", **parent)
    if state != "wait":
        either.complete("c0", 1, "t:0", queue="child")


def test_the_last_child_of_a_parent_was_complete_before(either: Pair) -> None:
    either.add("work", {}, jobId="c", queue="child")
    either.fetch("t:c", queue="child")
    either.complete("c", {"n": 1}, "t:c", queue="child")
    either.add_flow(node("p", "", node("c", "child")))


def test_a_parent_that_does_not_exist(either: Pair) -> None:
    refused = either.add("work", {}, parent={"id": "gone", "queue": "@"}, queue="child")
    assert refused.code == -5


def test_a_parent_that_would_replace_another(either: Pair) -> None:
    either.add_flow(parent_with_children({}))
    either.add("second", {}, jobId="q")
    refused = either.add("again", {}, jobId="c0", parent={"id": "q", "queue": "@"}, queue="child")
    assert refused.code == -7


def test_a_child_of_another_parent_keeps_it(either: Pair) -> None:
    either.add_flow(parent_with_children({}, {}))
    either.add_flow(node("q", "", node("c0", "child", node("g", "other/deep")), node("d", "child")))
    either.add_flow(node("r", "", node("c1", "child")))
    run_dry(either)


def test_a_child_whose_parent_is_gone_keeps_the_dead_link(either: Pair) -> None:
    either.add_flow(parent_with_children({}))
    either.remove("p", False)
    either.add_flow(node("q", "", node("c0", "child"), node("d", "child")))
    run_dry(either)


@pytest.mark.parametrize("policies", [("failParent", "continueParent"), ("ignoreDependency", "removeDependency")])
def test_policies_that_exclude_each_other(manual_pair: Pair, policies: tuple[str, str]) -> None:
    both = {f"{policy}OnFailure": True for policy in policies}
    assert isinstance(manual_pair.add("work", {}, **both), Failed)


@pytest.mark.parametrize("target", ["p", "c0"])
@pytest.mark.parametrize("children", [True, False])
def test_removing_from_a_flow(either: Pair, target: str, children: bool) -> None:
    either.add_flow(parent_with_children({}, {}))
    either.remove(target, children, queue="" if target == "p" else "child")


def test_a_step_job_waits_for_the_children_it_adds(either: Pair) -> None:
    either.add("steps", {}, jobId="p")
    either.fetch("t:p")
    either.add("child", {}, jobId="c", parent={"id": "p", "queue": "@"}, queue="child")
    assert either.move_to_waiting_children("p", "t:p") is True
    either.fetch("t:c", queue="child")
    either.complete("c", 1, "t:c", queue="child")
    either.fetch("t:p2")
    assert either.move_to_waiting_children("p", "t:p2") is False
    either.complete("p", "done", "t:p2")


def test_cleaning_the_children_of_a_flow(either: Pair) -> None:
    either.add_flow(parent_with_children({}, {"delay": 10_000}))
    either.tick(10)
    either.clean(1, 0, "wait", queue="child")
    either.clean(1, 0, "delayed", queue="child")


def test_draining_the_children_of_a_flow(either: Pair) -> None:
    either.add_flow(parent_with_children({}, {"delay": 10_000}))
    either.drain(True, queue="child")
