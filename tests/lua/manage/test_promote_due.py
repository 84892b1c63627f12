"""lua/manage/promote_due.lua: moving the delayed jobs that are due."""

SCRIPT = "manage/promote_due"
NOW = 1795225367409
LATER = NOW + 1


def test_only_jobs_that_are_due_move_oldest_first(run, queue, store, dump, events):
    store("1", "delayed", LATER * 4096, delay=1000)
    store("2", "delayed", NOW * 4096 + 4095, delay=1000)
    store("3", "delayed", NOW * 4096, delay=1000)
    assert run(SCRIPT, queue, NOW, 100) == 2
    state = dump(queue)
    assert state["wait"] == ["2", "3"]
    assert state["delayed"] == [("1", LATER * 4096)]
    assert (state["2"]["delay"], state["1"]["delay"]) == ("0", "1000")
    assert events(queue) == ["waiting 3 delayed", "waiting 2 delayed"]


def test_a_call_moves_at_most_limit_jobs(run, queue, store):
    for offset in range(5):
        store(str(offset), "delayed", NOW * 4096 + offset)
    assert [run(SCRIPT, queue, NOW, 2) for _ in range(4)] == [2, 2, 1, 0]


def test_a_job_with_a_priority_goes_to_prioritized(run, queue, store, dump):
    store("1", "delayed", NOW * 4096, delay=1000, priority=3)
    assert run(SCRIPT, queue, NOW, 100) == 1
    assert dump(queue)["prioritized"] == [("1", 3 * 2**32 + 1)]


def test_in_a_paused_queue_no_worker_is_woken(run, queue, store, pause, dump):
    store("1", "delayed", NOW * 4096)
    pause()
    assert run(SCRIPT, queue, NOW, 100) == 1
    assert dump(queue)["paused"] == ["1"]
    assert "marker" not in dump(queue)


def test_an_empty_queue_stays_empty(run, queue, dump):
    assert run(SCRIPT, queue, NOW, 100) == 0
    assert dump(queue) == {}
