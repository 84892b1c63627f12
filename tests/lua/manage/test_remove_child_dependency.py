"""lua/manage/remove_child_dependency.lua: removing a child from its parent."""

import pytest

SCRIPT = "manage/remove_child_dependency"


@pytest.fixture
def parent_with_children(store, add_child):
    """A parent that waits for two children."""
    store("p", "waiting-children")
    for child in ("a", "b"):
        store(child, "wait")
        add_child("p", child)


def test_a_missing_job_or_a_job_without_a_parent_is_refused(run, queue, client, store, add_child, dump):
    assert run(SCRIPT, queue, "none") == -1
    store("1", "wait")
    assert run(SCRIPT, queue, "1") == -5
    store("p", "waiting-children")
    add_child("p", "1")
    client.delete(f"bull:{queue}:p")
    before = dump(queue)
    assert run(SCRIPT, queue, "1") == -5
    assert dump(queue) == before


def test_the_parent_is_released_after_its_last_child(run, queue, parent_with_children, dump, events):
    assert run(SCRIPT, queue, "a") == 1
    assert dump(queue)["p:dependencies"] == {f"bull:{queue}:b"}
    assert not {"parentKey", "parent"} & set(dump(queue)["a"])
    assert dump(queue)["waiting-children"] == [("p", 0)]
    assert run(SCRIPT, queue, "b") == 1
    assert "waiting-children" not in dump(queue)
    assert dump(queue)["wait"] == ["b", "a", "p"]
    assert events(queue) == ["waiting p waiting-children"]


def test_a_child_that_is_no_dependency_keeps_its_link(run, queue, client, parent_with_children, dump):
    client.srem(f"bull:{queue}:p:dependencies", f"bull:{queue}:a")
    before = dump(queue)
    assert run(SCRIPT, queue, "a") == 0
    assert dump(queue) == before
