"""Jobs that other clients added with a parent, a deduplication id or a scheduler, worked by us."""

import pytest

POLICIES = [
    {},
    {"failParentOnFailure": True},
    {"continueParentOnFailure": True},
    {"ignoreDependencyOnFailure": True},
    {"removeDependencyOnFailure": True},
]


def flow(pair, *children, parent_queue="", **opts):
    """A parent with children in the queue ``child``; each child is given by its options."""
    return {
        "name": "parent",
        "queueName": pair.name(parent_queue),
        "data": {},
        "opts": {"jobId": "p", **opts},
        "children": [
            {"name": "child", "queueName": pair.name("child"), "data": {}, "opts": {"jobId": f"c{n}", **child}}
            for n, child in enumerate(children)
        ],
    }


def take(pair, *ids):
    for id in ids:
        assert pair.fetch(f"t:{id}", queue="child") == id


@pytest.mark.parametrize("policy", POLICIES)
def test_a_completed_child_settles_with_its_parent(pair, policy):
    pair.foreign_add_flow(flow(pair, policy, policy))
    take(pair, "c0", "c1")
    pair.complete("c0", {"n": 0}, "t:c0", queue="child")
    pair.complete("c1", None, "t:c1", queue="child")
    assert pair.fetch("t:p") == "p"
    pair.complete("p", "done", "t:p")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("first", [0, 1])
def test_a_failed_child_does_to_its_parent_what_its_policy_says(pair, policy, first):
    pair.foreign_add_flow(flow(pair, policy, {}))
    take(pair, "c0", "c1")
    finish = [
        lambda: pair.fail("c0", "boom", "t:c0", queue="child"),
        lambda: pair.complete("c1", 1, "t:c1", queue="child"),
    ]
    finish[first]()
    finish[1 - first]()
    if pair.fetch("t:p") == "p":
        pair.complete("p", "done", "t:p")


@pytest.mark.parametrize("parent", [{"delay": 5000}, {"priority": 3}, {"lifo": True}])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_released_parent_keeps_its_delay_and_priority(pair, parent, policy):
    pair.add("other", {})
    pair.foreign_add_flow(flow(pair, policy, **parent))
    take(pair, "c0")
    pair.fail("c0", "boom", "t:c0", queue="child")
    pair.tick(5000)
    pair.fetch("t:1")
    pair.fetch("t:2")


@pytest.mark.parametrize("policy", POLICIES)
def test_a_retried_child_leaves_its_parent_alone(pair, policy):
    pair.foreign_add_flow(flow(pair, {**policy, "attempts": 2, "backoff": 1000}))
    take(pair, "c0")
    pair.fail("c0", "boom", "t:c0", queue="child")
    pair.tick(1000)
    take(pair, "c0")
    pair.complete("c0", 1, "t:c0", queue="child")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("finish", ["complete", "fail"])
def test_a_child_that_removes_itself(pair, policy, finish):
    pair.foreign_add_flow(flow(pair, {**policy, "removeOnComplete": True, "removeOnFail": True}))
    take(pair, "c0")
    getattr(pair, finish)("c0", "text", "t:c0", queue="child")


@pytest.mark.parametrize("policy", POLICIES)
def test_a_child_pruned_by_a_keep_rule_is_detached(pair, policy):
    pair.foreign_add_flow(flow(pair, policy, {**policy, "removeOnFail": 1}, {}))
    take(pair, "c0", "c1")
    pair.fail("c0", "boom", "t:c0", queue="child")
    pair.tick(1000)
    pair.fail("c1", "boom", "t:c1", queue="child")


def test_a_failure_climbs_one_level_per_worker_step(pair):
    tree = flow(pair, {"failParentOnFailure": True}, failParentOnFailure=True)
    pair.foreign_add_flow(
        {"name": "root", "queueName": pair.name("root"), "data": {}, "opts": {"jobId": "r"}, "children": [tree]}
    )
    take(pair, "c0")
    pair.fail("c0", "boom", "t:c0", queue="child")
    assert pair.fetch("t:p") == "p"
    pair.fail("p", f"child bull:{pair.name('child')}:c0 failed", "t:p", unrecoverable=True)
    assert pair.fetch("t:r", queue="root") == "r"
    pair.fail("r", f"child bull:{pair.name()}:p failed", "t:r", unrecoverable=True, queue="root")


def test_parent_and_child_in_one_queue(pair):
    tree = flow(pair, {}, {"failParentOnFailure": True})
    for child in tree["children"]:
        child["queueName"] = pair.name()
    pair.foreign_add_flow(tree)
    assert pair.fetch("t:0") == "c0"
    assert pair.complete("c0", 1, "t:0", fetch_next=True) == "c1"
    assert pair.fail("c1", "boom", "t:0", fetch_next=True) == "p"


def test_a_parent_with_pending_children_cannot_complete(pair):
    pair.foreign_add_flow(flow(pair, {}))
    pair.command("ZREM", "{P}waiting-children", "p")
    pair.command("RPUSH", "{P}wait", "p")
    assert pair.fetch("t:p") == "p"
    assert pair.complete("p", 1, "t:p").code == -4


def test_a_parent_with_failed_children_cannot_complete(pair):
    pair.foreign_add_flow(flow(pair, {"failParentOnFailure": True}))
    take(pair, "c0")
    pair.fail("c0", "boom", "t:c0", queue="child")
    assert pair.fetch("t:p") == "p"
    assert pair.complete("p", 1, "t:p").code == -9


def test_a_child_in_a_paused_parents_queue(pair):
    pair.foreign_add_flow(flow(pair, {}))
    take(pair, "c0")
    pair.pause()
    pair.complete("c0", 1, "t:c0", queue="child")
    pair.resume()


@pytest.mark.parametrize("remove_children", [True, False])
def test_remove_a_parent(pair, remove_children):
    pair.foreign_add_flow(flow(pair, {}, {}, {}))
    take(pair, "c0")
    pair.complete("c0", 1, "t:c0", queue="child")
    pair.remove("p", remove_children)


@pytest.mark.parametrize("policy", POLICIES)
def test_remove_a_parent_with_a_failed_child(pair, policy):
    pair.foreign_add_flow(flow(pair, policy, {}))
    take(pair, "c0")
    pair.fail("c0", "boom", "t:c0", queue="child")
    pair.remove("p")


def test_a_parent_is_not_removed_while_a_child_runs(pair):
    pair.foreign_add_flow(flow(pair, {}))
    take(pair, "c0")
    assert pair.remove("p") == 0


def test_remove_the_children_one_by_one(pair):
    pair.foreign_add_flow(flow(pair, {}, {}))
    pair.remove("c0", queue="child")
    pair.remove("c1", queue="child")


@pytest.mark.parametrize("policy", POLICIES[:2])
@pytest.mark.parametrize("all_of_them", [False, True])
def test_retry_of_a_failed_child(pair, policy, all_of_them):
    pair.foreign_add_flow(flow(pair, policy))
    take(pair, "c0")
    pair.fail("c0", "boom", "t:c0", queue="child")
    pair.retry_jobs(queue="child") if all_of_them else pair.retry("c0", queue="child")


def test_retry_of_a_completed_child(pair):
    pair.foreign_add_flow(flow(pair, {}, {}))
    take(pair, "c0")
    pair.complete("c0", 1, "t:c0", queue="child")
    pair.retry("c0", "completed", queue="child")


@pytest.mark.parametrize("delayed", [False, True])
def test_drain_with_children(pair, delayed):
    pair.foreign_add_flow(flow(pair, {}, {"delay": 1000}, {"priority": 1}))
    pair.drain(delayed, queue="child")


DEDUPLICATION = [{"id": "d"}, {"id": "d", "ttl": 60_000}, {"id": "d", "ttl": 60_000, "extend": True}]


@pytest.mark.parametrize("deduplication", DEDUPLICATION)
@pytest.mark.parametrize("finish", ["complete", "fail"])
def test_a_deduplicated_job_that_finishes(pair, deduplication, finish):
    id = pair.foreign_add("work", {}, deduplication=deduplication)
    pair.foreign_add("work", {}, deduplication=deduplication)
    pair.fetch("t:0")
    getattr(pair, finish)(id, "x", "t:0")
    pair.foreign_add("work", {}, deduplication=deduplication)


@pytest.mark.parametrize("deduplication", DEDUPLICATION)
def test_a_deduplicated_job_that_is_retried_or_moved(pair, deduplication):
    id = pair.foreign_add("work", {}, deduplication=deduplication, attempts=2)
    pair.fetch("t:0")
    pair.fail(id, "boom", "t:0")
    pair.fetch("t:1")
    pair.move_to_delayed(id, 1000, "t:1")


@pytest.mark.parametrize("deduplication", DEDUPLICATION)
@pytest.mark.parametrize("operation", ["remove", "drain", "obliterate"])
def test_a_deduplicated_job_that_is_removed(pair, deduplication, operation):
    id = pair.foreign_add("work", {}, deduplication=deduplication)
    pair.remove(id) if operation == "remove" else getattr(pair, operation)()


def test_a_deduplicated_job_that_lost_its_key_leaves_the_new_owner_alone(pair):
    id = pair.foreign_add("work", {}, deduplication={"id": "d"})
    pair.expire("de:d")
    pair.foreign_add("work", {}, deduplication={"id": "d"})
    pair.fetch("t:0")
    pair.complete(id, 1, "t:0")
