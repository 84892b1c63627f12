"""lua/manage/promote_jobs.lua: moving all delayed jobs to wait."""

import pytest
import redis

SCRIPT = "manage/promote_jobs"
DUE = 1795225367409 * 4096


def test_an_empty_queue_stays_empty(run, queue, dump):
    assert run(SCRIPT, queue, 1000) == 0
    assert dump(queue) == {}


def test_jobs_wait_in_the_order_in_which_they_are_due_without_priorities(run, queue, store, dump, events):
    store("9", "wait")
    for offset, job_id in enumerate("213"):
        store(job_id, "delayed", DUE + offset, delay=1000, priority=2)
    assert run(SCRIPT, queue, 1000) == 0
    state = dump(queue)
    assert state["wait"] == ["3", "1", "2", "9"]
    assert "delayed" not in state
    assert state["1"]["delay"] == "1000"
    assert state["marker"] == [("0", 0)]
    assert events(queue) == [f"waiting {job_id} delayed" for job_id in "213"]


@pytest.mark.parametrize(("count", "more", "left"), [(2, 1, 1), (3, 1, 0), (4, 0, 0)])
def test_a_call_moves_at_most_count_jobs_and_says_if_there_may_be_more(run, queue, store, dump, count, more, left):
    for offset in range(3):
        store(str(offset), "delayed", DUE + offset)
    assert run(SCRIPT, queue, count) == more
    assert len(dump(queue).get("delayed", [])) == left


def test_in_a_paused_queue_no_marker_is_set(run, queue, store, pause, dump):
    store("1", "delayed", DUE)
    pause()
    run(SCRIPT, queue, 1000)
    assert dump(queue)["paused"] == ["1"]
    assert "marker" not in dump(queue)


def test_a_malformed_count_changes_nothing(run, queue, store, dump):
    store("1", "delayed", DUE)
    before = dump(queue)
    with pytest.raises(redis.ResponseError):
        run(SCRIPT, queue, "all")
    assert dump(queue) == before
