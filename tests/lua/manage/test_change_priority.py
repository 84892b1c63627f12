"""lua/manage/change_priority.lua: changing a job's priority and place."""

import pytest
import redis

SCRIPT = "manage/change_priority"


@pytest.mark.parametrize(
    ("priority", "lifo", "wait", "prioritized", "woken"),
    [
        (0, False, ["2", "3", "1"], [], True),
        (0, True, ["3", "1", "2"], [], True),
        (4, False, ["3", "1"], [("2", 4 * 2**32 + 1)], True),
        (4, True, ["3", "1"], [("2", 4 * 2**32)], False),
    ],
)
def test_a_waiting_job_moves(run, queue, store, dump, events, priority, lifo, wait, prioritized, woken):
    for job_id in "123":
        store(job_id, "wait")
    assert run(SCRIPT, queue, "2", priority, lifo) == 0
    state = dump(queue)
    assert state["wait"] == wait
    assert state.get("prioritized", []) == prioritized
    assert state["2"]["priority"] == str(priority)
    assert ("marker" in state) is woken
    assert events(queue) == []


@pytest.mark.parametrize(
    ("priority", "lifo", "wait", "score"),
    [(0, False, ["2", "9"], None), (0, True, ["9", "2"], None), (7, False, ["9"], 7 * 2**32 + 1)],
)
def test_a_prioritized_job_moves(run, queue, store, dump, priority, lifo, wait, score):
    store("9", "wait")
    store("2", "prioritized", 2**32 + 1, priority=1)
    assert run(SCRIPT, queue, "2", priority, lifo) == 0
    assert dump(queue)["wait"] == wait
    assert dump(queue).get("prioritized", []) == ([("2", score)] if score else [])


@pytest.mark.parametrize("list_name", ["wait", "paused"])
def test_in_a_paused_queue_the_job_is_found_in_either_list_and_no_marker_is_set(
    run, queue, store, pause, dump, list_name
):
    store("1", list_name)
    pause()
    assert run(SCRIPT, queue, "1", 0, False) == 0
    assert dump(queue)["paused"] == ["1"]
    assert "wait" not in dump(queue)
    assert "marker" not in dump(queue)


@pytest.mark.parametrize("state", ["delayed", "active", "completed", None])
def test_a_job_that_does_not_wait_only_stores_the_priority(run, queue, store, dump, state):
    store("1", state)
    before = dump(queue)
    assert run(SCRIPT, queue, "1", 5, False) == 0
    before["1"]["priority"] = "5"
    assert dump(queue) == before


def test_a_missing_job_is_reported(run, queue, dump):
    assert run(SCRIPT, queue, "1", 5, False) == -1
    assert dump(queue) == {}


@pytest.mark.parametrize("priority", ["high", None])
def test_a_malformed_priority_changes_nothing(run, queue, store, dump, priority):
    store("1", "wait")
    before = dump(queue)
    with pytest.raises(redis.ResponseError):
        run(SCRIPT, queue, "1", priority, False)
    assert dump(queue) == before
