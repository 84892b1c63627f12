"""lua/manage/promote_many.lua: moving delayed jobs, by their ids, to where they may run now."""

import pytest

SCRIPT = "manage/promote_many"
DUE = 1795225367409 * 4096


@pytest.fixture
def jobs(store):
    """Make delayed jobs with and without priorities, and a waiting one."""

    def make():
        store("w", "wait")
        for offset, job_id in enumerate("12345"):
            store(job_id, "delayed", DUE + offset, delay=1000, priority=offset % 3)

    return make


@pytest.fixture
def promote(run, queue):
    """Call the script with some ids."""
    return lambda *ids: run(SCRIPT, queue, len(ids), *ids)


def test_many_jobs_become_what_they_become_one_by_one(run, promote, queue, client, jobs, dump, events):
    ids = ["4", "1", "5", "2"]
    jobs()
    assert [run("manage/promote", queue, job_id) for job_id in ids] == [0] * 4
    state, seen = dump(queue), events(queue)
    client.flushdb()
    jobs()
    assert promote(*ids) == []
    assert (dump(queue), events(queue)) == (state, seen)
    assert state["wait"] == ["1", "4", "w"]
    assert [job_id for job_id, _ in state["delayed"]] == ["3"]


def test_ids_of_jobs_that_are_not_delayed_are_returned_by_position(promote, queue, jobs, dump):
    jobs()
    assert promote("w", "1", "missing", "1", "2", "") == [1, 3, 4, 6]
    assert [job_id for job_id, _ in dump(queue)["delayed"]] == ["3", "4", "5"]


@pytest.mark.parametrize("ids", [[], ["w", "missing"]])
def test_without_a_delayed_job_nothing_is_changed(promote, queue, jobs, dump, ids):
    jobs()
    before = dump(queue)
    assert promote(*ids) == [1, 2][: len(ids)]
    assert dump(queue) == before


def test_in_a_paused_queue_no_marker_is_set(run, queue, jobs, pause, dump):
    jobs()
    pause()
    assert run(SCRIPT, queue, 2, "1", "4", "fan_out") == []
    assert "marker" not in dump(queue)
    assert dump(queue)["paused"] == ["4", "1"]


def test_a_thousand_jobs_fit_into_a_call(promote, queue, store, dump):
    ids = [str(number) for number in range(1000)]
    for number, job_id in enumerate(ids):
        store(job_id, "delayed", DUE + number)
    assert promote(*ids) == []
    assert dump(queue)["wait"] == ids[::-1]
