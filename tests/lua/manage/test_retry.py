"""lua/manage/retry.lua: moving a finished job back to wait."""

import pytest

SCRIPT = "manage/retry"
RUN = {"atm": 2, "ats": 3, "processedOn": 4, "finishedOn": 5, "stacktrace": '["x"]', "failedReason": "boom"}


@pytest.mark.parametrize(("lifo", "wait"), [(False, ["1", "9"]), (True, ["9", "1"])])
def test_a_failed_job_waits_again_with_its_counters_but_without_its_outcome(
    run, queue, store, dump, events, lifo, wait
):
    store("9", "wait")
    store("1", "failed", 5, **RUN)
    assert run(SCRIPT, queue, "1", "failed", lifo) == 0
    state = dump(queue)
    assert state["wait"] == wait
    assert "failed" not in state
    assert state["marker"] == [("0", 0)]
    added = {"name", "data", "opts", "timestamp", "delay", "priority"}
    assert state["1"].keys() == added | {"atm", "ats", "stacktrace"}
    assert events(queue) == ["waiting 1 failed"]


def test_a_completed_job_loses_its_return_value_but_keeps_an_old_failure(run, queue, store, dump, events):
    store("1", "completed", 5, returnvalue="7", **RUN)
    assert run(SCRIPT, queue, "1", "completed", False) == 0
    assert "returnvalue" not in dump(queue)["1"]
    assert dump(queue)["1"]["failedReason"] == "boom"
    assert events(queue) == ["waiting 1 completed"]


def test_the_priority_is_ignored(run, queue, store, dump):
    store("1", "failed", 5, priority=3)
    run(SCRIPT, queue, "1", "failed", False)
    assert dump(queue)["wait"] == ["1"]
    assert dump(queue)["1"]["priority"] == "3"


def test_in_a_paused_queue_no_marker_is_set(run, queue, store, pause, dump):
    store("1", "failed", 5)
    pause()
    run(SCRIPT, queue, "1", "failed", False)
    assert dump(queue)["paused"] == ["1"]
    assert "marker" not in dump(queue)


@pytest.mark.parametrize(
    ("job_id", "state", "code"),
    [
        ("missing", "failed", -1),
        ("1", "completed", -3),
        ("2", "failed", -3),
        ("2", "wait", -3),
        ("3", "delayed", -3),
        ("1", "", -3),
    ],
)
def test_only_a_job_in_that_finished_state_can_be_retried(run, queue, store, dump, job_id, state, code):
    store("1", "failed", 5)
    store("2", "wait")
    store("3", "delayed", 5)
    before = dump(queue)
    assert run(SCRIPT, queue, job_id, state, False) == code
    assert dump(queue) == before


@pytest.mark.parametrize(
    ("state", "record"), [("completed", "processed"), ("failed", "failed"), ("failed", "unsuccessful")]
)
def test_the_parent_forgets_the_outcome_and_depends_on_the_child_again(
    run, queue, client, store, add_child, dump, state, record
):
    store("p", "waiting-children")
    store("c", state, 5)
    add_child("p", "c")
    client.delete(f"bull:{queue}:p:dependencies")
    child_key = f"bull:{queue}:c"
    if record == "unsuccessful":
        client.zadd(f"bull:{queue}:p:{record}", {child_key: 5})
    else:
        client.hset(f"bull:{queue}:p:{record}", child_key, "boom")
    assert run(SCRIPT, queue, "c", state, False) == 0
    assert f"p:{record}" not in dump(queue)
    assert dump(queue)["p:dependencies"] == {child_key}


@pytest.mark.parametrize("state", ["completed", "failed"])
def test_a_parent_without_the_outcome_or_without_a_hash_is_not_changed(
    run, queue, client, store, add_child, dump, state
):
    store("p", "waiting-children")
    store("c", state, 5)
    add_child("p", "c")
    client.delete(f"bull:{queue}:p:dependencies")
    assert run(SCRIPT, queue, "c", state, False) == 0
    assert "p:dependencies" not in dump(queue)
    client.delete(f"bull:{queue}:p", f"bull:{queue}:wait")
    client.hset(f"bull:{queue}:p:processed", f"bull:{queue}:c", "1")
    client.zadd(f"bull:{queue}:{state}", {"c": 5})
    assert run(SCRIPT, queue, "c", state, False) == 0
    assert "p:dependencies" not in dump(queue)


@pytest.mark.parametrize(("seen", "code"), [("5", 0), ("6", -3), ("", -3)])
def test_a_job_that_was_seen_moves_only_if_it_has_not_finished_again(run, queue, store, dump, seen, code):
    store("1", "failed", 5, **RUN)
    before = dump(queue)
    assert run(SCRIPT, queue, "1", "failed", False, False, False, seen) == code
    assert (dump(queue) == before) == (code != 0)


def test_a_job_without_a_time_moves_if_it_was_seen_so(run, queue, store, dump):
    store("1", "failed", 5)
    assert run(SCRIPT, queue, "1", "failed", False, False, False, "") == 0
    assert dump(queue)["wait"] == ["1"]
