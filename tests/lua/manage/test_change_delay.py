"""lua/manage/change_delay.lua: a delayed job becomes due at another time."""

import pytest
import redis

SCRIPT = "manage/change_delay"
NOW = 1795225366409


@pytest.mark.parametrize(("delay", "due"), [(5000, NOW + 5000), (0, NOW), (-5, NOW)])
def test_the_new_delay_counts_from_now(run, queue, store, dump, events, delay, due):
    store("1", "delayed", (NOW + 60_000) * 4096, delay=60_000)
    assert run(SCRIPT, queue, NOW, "1", delay) == 0
    state = dump(queue)
    assert state["delayed"] == [("1", due * 4096)]
    assert state["marker"] == [("1", due)]
    assert state["1"]["delay"] == str(delay)
    assert events(queue) == [f"delayed 1 {due}"]


def test_jobs_due_at_the_same_time_keep_the_order_of_the_changes(run, queue, store, dump):
    for job_id in ("1", "2"):
        store(job_id, "delayed", (NOW + 1) * 4096, delay=1)
        run(SCRIPT, queue, NOW, job_id, 5000)
    assert dump(queue)["delayed"] == [("1", (NOW + 5000) * 4096), ("2", (NOW + 5000) * 4096 + 1)]


def test_the_marker_is_set_on_a_paused_queue_too(run, queue, store, pause, dump):
    store("1", "delayed", (NOW + 1) * 4096, delay=1)
    pause()
    run(SCRIPT, queue, NOW, "1", 5000)
    assert dump(queue)["marker"] == [("1", NOW + 5000)]


@pytest.mark.parametrize(("job_id", "code"), [("missing", -1), ("1", -3)])
def test_only_a_delayed_job_can_be_changed(run, queue, store, dump, job_id, code):
    store("1", "wait")
    before = dump(queue)
    assert run(SCRIPT, queue, NOW, job_id, 5000) == code
    assert dump(queue) == before


@pytest.mark.parametrize("arguments", [("now", "1", 5), (NOW, "1", "soon"), (NOW, "1", None)])
def test_malformed_numbers_change_nothing(run, queue, store, dump, arguments):
    store("1", "delayed", (NOW + 1) * 4096, delay=1)
    before = dump(queue)
    with pytest.raises(redis.ResponseError):
        run(SCRIPT, queue, *arguments)
    assert dump(queue) == before
