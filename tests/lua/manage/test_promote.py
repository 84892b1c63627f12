"""lua/manage/promote.lua: moving a delayed job to where it may run now."""

import pytest

SCRIPT = "manage/promote"
DUE = 1795225367409 * 4096


def test_the_job_goes_behind_the_others(run, queue, client, store, dump, events):
    store("1", "delayed", DUE, delay=1000)
    store("2", "wait")
    assert run(SCRIPT, queue, "1") == 0
    state = dump(queue)
    assert state["wait"] == ["1", "2"]
    assert "delayed" not in state
    assert state["1"]["delay"] == "0"
    assert state["marker"] == [("0", 0)]
    assert events(queue) == ["waiting 1 delayed"]


def test_a_job_with_a_priority_goes_to_prioritized(run, queue, store, dump):
    store("1", "delayed", DUE, delay=1000, priority=3)
    assert run(SCRIPT, queue, "1") == 0
    assert dump(queue)["prioritized"] == [("1", 3 * 2**32 + 1)]
    assert dump(queue)["pc"] == "1"
    assert dump(queue)["marker"] == [("0", 0)]


def test_in_a_paused_queue_no_marker_is_set(run, queue, store, pause, dump):
    store("1", "delayed", DUE, delay=1000)
    pause()
    assert run(SCRIPT, queue, "1") == 0
    assert dump(queue)["paused"] == ["1"]
    assert "marker" not in dump(queue)


@pytest.mark.parametrize("job_id", ["1", "missing", ""])
def test_a_job_that_is_not_delayed_is_not_changed(run, queue, store, dump, job_id):
    store("1", "wait")
    before = dump(queue)
    assert run(SCRIPT, queue, job_id) == -3
    assert dump(queue) == before
