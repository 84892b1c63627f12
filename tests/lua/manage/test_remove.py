"""lua/manage/remove.lua: removing a job, alone or with its children."""

import json

import pytest

SCRIPT = "manage/remove"
STATES = ["completed", "waiting-children", "delayed", "failed", "prioritized", "wait", "paused", "active"]


def test_an_unknown_id_counts_as_removed_and_changes_nothing(run, queue, dump):
    assert run(SCRIPT, queue, "nobody", True) == 1
    assert dump(queue) == {}


@pytest.mark.parametrize("state", STATES)
def test_the_event_has_the_name_of_the_key_that_had_the_job(run, queue, client, store, dump, state):
    store("1", state, score=5)
    client.rpush(f"bull:{queue}:1:logs", "row")
    assert run(SCRIPT, queue, "1", True) == 1
    assert dump(queue) == {
        "meta": {"opts.maxLenEvents": "10000"},
        "events": [[("event", "removed"), ("jobId", "1"), ("prev", state)]],
    }


def test_a_job_in_no_state_is_removed_from_unknown(run, queue, store, events):
    store("1")
    assert run(SCRIPT, queue, "1", True) == 1
    assert events(queue) == ["removed 1 unknown"]


def test_an_id_without_a_hash_leaves_its_list_without_an_event(run, queue, client, dump):
    client.rpush(f"bull:{queue}:wait", "1", "2")
    assert run(SCRIPT, queue, "1", True) == 1
    assert dump(queue) == {"wait": ["2"]}


def test_a_locked_job_stays(run, queue, client, store, dump):
    store("1", "active")
    client.set(f"bull:{queue}:1:lock", "w:0")
    before = dump(queue)
    assert run(SCRIPT, queue, "1", True) == 0
    assert dump(queue) == before


@pytest.mark.parametrize(("owner", "kept"), [("1", False), ("2", True)])
def test_only_its_own_deduplication_key_goes(run, queue, client, store, dump, owner, kept):
    store("1", "wait", deid="d")
    client.set(f"bull:{queue}:de:d", owner, px=60_000)
    assert run(SCRIPT, queue, "1", True) == 1
    assert ("de:d" in dump(queue)) is kept


@pytest.mark.parametrize("locked", [True, False])
def test_the_current_iteration_of_a_scheduler_stays_even_when_locked(run, queue, client, store, dump, locked):
    store("repeat:a:b:17", "delayed", rjk="a:b")
    client.zadd(f"bull:{queue}:repeat", {"a:b": 17})
    if locked:
        client.set(f"bull:{queue}:repeat:a:b:17:lock", "w:0")
    before = dump(queue)
    assert run(SCRIPT, queue, "repeat:a:b:17", True) == -8
    assert dump(queue) == before


def test_an_older_iteration_of_a_scheduler_is_removed(run, queue, client, store, events):
    store("repeat:s:17", "completed", rjk="s")
    client.zadd(f"bull:{queue}:repeat", {"s": 18})
    assert run(SCRIPT, queue, "repeat:s:17", True) == 1
    assert events(queue) == ["removed repeat:s:17 completed"]


def test_the_removal_of_the_last_child_releases_the_parent(run, queue, store, add_child, dump, events):
    store("p", "waiting-children", delay=5000, priority=3)
    store("9", "wait")
    for child in ("c1", "c2"):
        store(child, "wait")
        add_child("p", child)
    run(SCRIPT, queue, "c1", True)
    assert dump(queue)["p:dependencies"] == {f"bull:{queue}:c2"}
    run(SCRIPT, queue, "c2", True)
    assert dump(queue)["wait"] == ["9", "p"]
    assert dump(queue)["marker"] == [("0", 0)]
    assert events(queue) == ["removed c1 wait", "waiting p waiting-children", "removed c2 wait"]


def test_a_parent_whose_id_has_colons_is_released_too(run, queue, store, add_child, dump):
    store("repeat:s:17", "waiting-children")
    store("c", "wait")
    add_child("repeat:s:17", "c")
    run(SCRIPT, queue, "c", True)
    assert dump(queue)["wait"] == ["repeat:s:17"]


def test_children_in_any_state_and_queue_are_removed_first(
    run, queue, new_queue, client, store, add_child, dump, events
):
    other = new_queue()
    store("p", "waiting-children")
    for child, state, record in (("done", "completed", "processed"), ("ignored", "failed", "failed")):
        store(child, state, 5)
        client.hset(f"bull:{queue}:p:{record}", f"bull:{queue}:{child}", "1")
    store("bad", "failed", 5)
    client.zadd(f"bull:{queue}:p:unsuccessful", {f"bull:{queue}:bad": 5})
    store("a:b:c", "wait", queue=other)
    add_child("p", "a:b:c", child_queue=other)
    store("grand", "delayed", 5)
    add_child("a:b:c", "grand", parent_queue=other)
    assert run(SCRIPT, queue, "p", True) == 1
    assert dump(other) == {
        "meta": {"opts.maxLenEvents": "10000"},
        "events": [[("event", "removed"), ("jobId", "a:b:c"), ("prev", "wait")]],
    }
    assert events(queue) == [
        "removed done completed",
        "removed ignored failed",
        "removed bad failed",
        "waiting p waiting-children",
        "removed grand delayed",
        "removed p wait",
    ]
    assert set(dump(queue)) == {"meta", "events", "marker"}


def test_children_stay_without_remove_children(run, queue, store, add_child, dump):
    store("p", "waiting-children")
    store("c", "wait")
    add_child("p", "c")
    assert run(SCRIPT, queue, "p", False) == 1
    assert dump(queue)["wait"] == ["c"]
    assert dump(queue)["c"]["parentKey"] == f"bull:{queue}:p"


@pytest.mark.parametrize(("children", "code"), [(True, 0), (False, 1)])
def test_a_locked_descendant_stops_the_removal_only_with_remove_children(
    run, queue, client, store, add_child, children, code
):
    for job_id in ("p", "c"):
        store(job_id, "waiting-children")
    store("g", "active")
    add_child("p", "c")
    add_child("c", "g")
    client.set(f"bull:{queue}:g:lock", "w:0")
    assert run(SCRIPT, queue, "p", children) == code


def test_jobs_that_depend_on_each_other_in_a_circle_are_removed(run, queue, store, add_child, dump):
    for job_id in ("a", "b"):
        store(job_id, "waiting-children")
    add_child("a", "b")
    add_child("b", "a")
    assert run(SCRIPT, queue, "a", True) == 1
    assert set(dump(queue)) == {"meta", "events", "marker"}


def test_a_tree_of_a_thousand_levels_is_removed_in_one_call(run, queue, store, add_child, dump):
    store("0", "waiting-children")
    for n in range(1, 1000):
        store(str(n), "waiting-children")
        add_child(str(n - 1), str(n))
    assert run(SCRIPT, queue, "0", True) == 1
    assert set(dump(queue)) == {"meta", "events", "marker"}


@pytest.mark.parametrize("parent", ["not json", json.dumps({"queueKey": 5}), "[]"])
def test_a_parent_field_that_cannot_be_read_does_not_stop_the_removal(
    run, queue, client, store, add_child, dump, parent
):
    store("p", "waiting-children")
    store("c", "wait")
    add_child("p", "c")
    client.hset(f"bull:{queue}:c", "parent", parent)
    assert run(SCRIPT, queue, "c", True) == 1
    assert dump(queue)["wait"] == ["p"]


@pytest.mark.parametrize("state", ["wait", "paused"])
def test_hundreds_of_children_leave_the_jobs_between_them_in_order(
    run, queue, client, store, add_child, pause, dump, events, state
):
    if state == "paused":
        pause()
    store("p", "waiting-children")
    for n in range(300):
        store(f"c{n}", state)
        add_child("p", f"c{n}")
        if n % 3 == 0:
            store(f"o{n}", state)
    store("floor", "waiting-children")
    add_child("p", "floor")
    store("ground", state)
    add_child("floor", "ground")
    again = [f"c{n}" for n in range(0, 300, 10)]
    client.rpush(f"bull:{queue}:{state}", *again)
    assert run(SCRIPT, queue, "p", True) == 1
    assert dump(queue)[state] == [*(f"o{n}" for n in range(297, -1, -3)), *again]
    assert sorted(events(queue)) == sorted(
        [
            *(f"removed c{n} {state}" for n in range(300)),
            f"removed ground {state}",
            *(f"waiting {parent} waiting-children" for parent in ("floor", "p")),
            *(f"removed {parent} {state}" for parent in ("floor", "p")),
        ]
    )
    assert set(dump(queue)) <= {state, *(f"o{n}" for n in range(300)), "meta", "events", "marker"}


#: The names of states, by the keys that hold such jobs.
SEEN = {state: "waiting" if state in ("wait", "paused") else state for state in STATES}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("seen", sorted({*SEEN.values()}))
def test_a_job_that_was_seen_goes_only_from_that_state(run, queue, store, dump, state, seen):
    store("1", state, score=5)
    before = dump(queue)
    is_same = SEEN[state] == seen
    assert run(SCRIPT, queue, "1", False, seen, "") == (1 if is_same else -3)
    assert (dump(queue) == before) != is_same


@pytest.mark.parametrize(("seen", "code"), [("5", 1), ("6", -3), ("", -3)])
def test_a_job_that_was_seen_goes_only_if_it_has_not_finished_again(run, queue, store, dump, seen, code):
    store("1", "failed", score=5, finishedOn=5)
    before = dump(queue)
    assert run(SCRIPT, queue, "1", False, "failed", seen) == code
    assert (dump(queue) == before) == (code != 1)


def test_a_job_that_was_seen_and_is_gone_is_no_success(run, queue, dump):
    assert run(SCRIPT, queue, "1", False, "failed", "5") == -1
    assert dump(queue) == {}
