"""lua/finish/move_to_finished.lua: the parent of a finished job."""

import json

import pytest

NOW = 1795225366409


@pytest.fixture
def parent_with_children(client, add, fetch):
    """`parent_with_children(queue, home, *policies)`: a parent in `home` with active children 1, 2... of `queue`."""

    def prepare(queue, home, *policies, parent_id="dad", prefix="bull", **fields):
        parent_key = f"{prefix}:{home}:{parent_id}"
        base = {"name": "p", "data": "{}", "opts": "{}", "timestamp": NOW, "delay": 0, "priority": 0, **fields}
        client.hset(parent_key, mapping=base)
        client.zadd(f"{prefix}:{home}:waiting-children", {parent_id: NOW})
        add(queue, *["{}"] * len(policies))
        fetch(queue, len(policies))
        for number, policy in enumerate(policies, 1):
            link = {"id": parent_id, "queueKey": f"{prefix}:{home}", **({policy: True} if policy else {})}
            client.hset(f"bull:{queue}:{number}", mapping={"parentKey": parent_key, "parent": json.dumps(link)})
            client.sadd(f"{parent_key}:dependencies", f"bull:{queue}:{number}")
        return parent_key

    return prepare


@pytest.fixture
def fail(finish):
    def one(queue, job_id="1", **options):
        return finish(queue, (job_id, "boom", "[]", 1), target="failed", **options)

    return one


def test_the_last_completed_child_releases_the_parent_to_the_front(
    parent_with_children, finish, add, new_queue, dump, events
):
    queue, home = new_queue(), new_queue()
    parent_with_children(queue, home, None, None)
    add(home, "ahead")
    finish(queue, ("1", '"r1"'))
    assert dump(home)["waiting-children"] == [("dad", NOW)]
    finish(queue, ("2", '"r2"'))
    after = dump(home)
    assert after["wait"] == ["1", "dad"]
    assert after["dad:processed"] == {f"bull:{queue}:1": '"r1"', f"bull:{queue}:2": '"r2"'}
    assert "dad:dependencies" not in after
    assert "waiting-children" not in after
    assert events(home)[-1] == "waiting dad waiting-children"
    assert events(queue)[-2:] == ['completed 2 "r2" active', "drained"]


def test_children_of_one_batch_release_their_parent_once(parent_with_children, finish, new_queue, dump):
    queue, home = new_queue(), new_queue()
    parent_with_children(queue, home, None, None, None)
    finish(queue, ("1", "1"), ("2", "2"), ("3", "3"))
    assert dump(home)["wait"] == ["dad"]
    assert dump(home)["marker"] == [("0", 0.0)]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"delay": 500}, {"delayed": [("dad", (NOW + 500) * 4096)], "marker": [("1", NOW + 500)]}),
        ({"priority": 4}, {"prioritized": [("dad", 4 * 2**32 + 1)], "marker": [("0", 0.0)]}),
    ],
)
def test_a_released_parent_keeps_its_own_delay_and_priority(
    parent_with_children, finish, new_queue, dump, fields, place
):
    queue, home = new_queue(), new_queue()
    parent_with_children(queue, home, None, **fields)
    finish(queue, ("1", "null"))
    assert dump(home).items() >= place.items()


def test_a_parent_in_a_paused_queue_sets_no_marker(parent_with_children, finish, client, new_queue, dump):
    queue, home = new_queue(), new_queue()
    parent_with_children(queue, home, None)
    client.hset(f"bull:{home}:meta", "paused", 1)
    finish(queue, ("1", "null"))
    assert dump(home)["paused"] == ["dad"]
    assert "marker" not in dump(home)


def test_a_parent_may_live_under_another_prefix_and_have_colons_in_its_id(
    parent_with_children, finish, new_queue, dump
):
    queue, home = new_queue(), new_queue()
    parent_with_children(queue, home, None, parent_id="repeat:s:5", prefix="other")
    finish(queue, ("1", "null"))
    assert dump(home, prefix="other")["wait"] == ["repeat:s:5"]


def test_without_a_policy_the_parent_waits_for_the_failed_child(parent_with_children, fail, new_queue, dump):
    queue, home = new_queue(), new_queue()
    parent_with_children(queue, home, None)
    before = dump(home)
    fail(queue)
    assert dump(home) == before


def test_a_removed_child_without_a_policy_releases_its_parent(parent_with_children, fail, new_queue, dump, events):
    queue, home = new_queue(), new_queue()
    parent_with_children(queue, home, None, priority=3)
    fail(queue, keep=0)
    assert dump(home)["wait"] == ["dad"]
    assert "dad:dependencies" not in dump(home)
    assert events(home) == ["waiting dad waiting-children"]


@pytest.mark.parametrize(("policy", "noted"), [("idof", True), ("rdof", False)])
def test_an_ignored_failure_counts_as_done(parent_with_children, fail, new_queue, dump, policy, noted):
    queue, home = new_queue(), new_queue()
    parent_with_children(queue, home, policy, policy)
    fail(queue, "1")
    assert dump(home)["waiting-children"] == [("dad", NOW)]
    fail(queue, "2")
    assert dump(home)["wait"] == ["dad"]
    assert dump(home).get("dad:failed", {}) == ({f"bull:{queue}:{n}": "boom" for n in "12"} if noted else {})


def test_continue_on_failure_releases_the_parent_before_its_other_children(parent_with_children, fail, new_queue, dump):
    queue, home = new_queue(), new_queue()
    parent_with_children(queue, home, "cpof", None)
    fail(queue)
    after = dump(home)
    assert after["wait"] == ["dad"]
    assert after["dad:dependencies"] == {f"bull:{queue}:2"}
    assert after["dad:failed"] == {f"bull:{queue}:1": "boom"}


def test_fail_parent_releases_the_parent_with_a_deferred_failure(parent_with_children, fail, new_queue, dump):
    queue, home = new_queue(), new_queue()
    parent_with_children(queue, home, "fpof", None)
    fail(queue)
    after = dump(home)
    assert after["wait"] == ["dad"]
    assert after["dad"]["defa"] == f"child bull:{queue}:1 failed"
    assert after["dad:unsuccessful"] == [(f"bull:{queue}:1", NOW)]
    assert after["dad:dependencies"] == {f"bull:{queue}:2"}


def test_fail_parent_moves_a_delayed_parent_to_wait(parent_with_children, fail, client, new_queue, dump):
    queue, home = new_queue(), new_queue()
    parent_with_children(queue, home, "fpof", delay=900)
    client.delete(f"bull:{home}:waiting-children")
    client.zadd(f"bull:{home}:delayed", {"dad": 1})
    fail(queue)
    assert dump(home)["wait"] == ["dad"]
    assert dump(home)["dad"]["delay"] == "0"
    assert "delayed" not in dump(home)


@pytest.mark.parametrize(("state", "is_noted"), [("active", True), ("failed", False)])
def test_fail_parent_only_sets_the_failure_of_a_parent_in_another_state(
    parent_with_children, fail, client, new_queue, dump, state, is_noted
):
    queue, home = new_queue(), new_queue()
    parent_with_children(queue, home, "fpof")
    client.delete(f"bull:{home}:waiting-children")
    if state == "active":
        client.lpush(f"bull:{home}:active", "dad")
    else:
        client.zadd(f"bull:{home}:failed", {"dad": NOW})
    fail(queue)
    assert ("defa" in dump(home)["dad"]) == is_noted
    assert "wait" not in dump(home)


def test_a_child_that_is_no_dependency_any_more_changes_nothing(
    parent_with_children, fail, finish, client, new_queue, dump
):
    queue, home = new_queue(), new_queue()
    parent_key = parent_with_children(queue, home, "fpof", None)
    client.delete(f"{parent_key}:dependencies")
    before = dump(home)
    fail(queue, "1")
    finish(queue, ("2", "null"))
    assert dump(home) == before


def test_an_unreadable_parent_field_falls_back_to_the_parent_key(parent_with_children, finish, client, new_queue, dump):
    queue, home = new_queue(), new_queue()
    parent_with_children(queue, home, None)
    client.hset(f"bull:{queue}:1", "parent", "{not json")
    assert finish(queue, ("1", "null"))[0] == {}
    assert dump(home)["wait"] == ["dad"]


def test_a_pruned_child_releases_its_parent(parent_with_children, fail, active, new_queue, dump):
    queue, home = new_queue(), new_queue()
    parent_with_children(queue, home, None)
    fail(queue, now=NOW - 1)
    assert "wait" not in dump(home)
    active(queue)
    fail(queue, "2", keep=1)
    assert dump(home)["wait"] == ["dad"]
    assert "1" not in dump(queue)


def test_a_parent_completes_after_its_child_in_the_same_batch(parent_with_children, finish, client, add, fetch, queue):
    parent_with_children(queue, queue, None)
    client.zrem(f"bull:{queue}:waiting-children", "dad")
    client.lpush(f"bull:{queue}:active", "dad")
    client.set(f"bull:{queue}:dad:lock", "t")
    assert finish(queue, ("1", "null"), ("dad", "null"))[0] == {}
