"""lua/manage/remove_unprocessed_children.lua: removing the children that a job still waits for."""

SCRIPT = "manage/remove_unprocessed_children"


def test_a_job_without_children_is_not_changed(run, queue, store, dump):
    store("p", "active")
    before = dump(queue)
    assert run(SCRIPT, queue, "p") == 0
    assert run(SCRIPT, queue, "none") == 0
    assert dump(queue) == before


def test_pending_children_are_removed_with_their_children(run, queue, new_queue, store, add_child, dump, events):
    other = new_queue()
    store("p", "active")
    store("c", "waiting-children", queue=other)
    store("g", "delayed", 5, queue=other)
    add_child("p", "c", child_queue=other)
    add_child("c", "g", parent_queue=other, child_queue=other)
    assert run(SCRIPT, queue, "p") == 0
    assert set(dump(other)) == {"meta", "marker", "events"}
    assert events(other) == ["waiting c waiting-children", "removed g delayed", "removed c wait"]
    assert set(dump(queue)) == {"meta", "active", "p"}


def test_a_waiting_parent_is_released_without_them(run, queue, store, add_child, dump):
    store("p", "waiting-children")
    store("c", "wait")
    add_child("p", "c")
    run(SCRIPT, queue, "p")
    assert dump(queue)["wait"] == ["p"]


def test_locked_failed_and_completed_children_stay(run, queue, client, store, add_child, dump):
    store("p", "waiting-children")
    for child, state in (("held", "active"), ("bad", "failed"), ("done", "completed"), ("c", "wait")):
        store(child, state, 5)
        add_child("p", child)
    client.set(f"bull:{queue}:held:lock", "w:0")
    client.smove(f"bull:{queue}:p:dependencies", f"bull:{queue}:p:processed-set", f"bull:{queue}:done")
    run(SCRIPT, queue, "p")
    assert dump(queue)["p:dependencies"] == {f"bull:{queue}:held", f"bull:{queue}:bad"}
    assert {"held", "bad", "done"} <= set(dump(queue))
    assert "c" not in dump(queue)


def test_hundreds_of_children_are_removed_and_the_other_jobs_keep_their_order(
    run, queue, store, add_child, dump, events
):
    store("p", "waiting-children")
    for n in range(300):
        store(f"c{n}", "wait")
        add_child("p", f"c{n}")
        if n % 3 == 0:
            store(f"o{n}", "wait")
    run(SCRIPT, queue, "p")
    assert dump(queue)["wait"] == [*(f"o{n}" for n in range(297, -1, -3)), "p"]
    assert sorted(events(queue)) == sorted([*(f"removed c{n} wait" for n in range(300)), "waiting p waiting-children"])
