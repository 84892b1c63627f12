"""lua/manage/update_progress.lua: storing a job's progress."""

import pytest

SCRIPT = "manage/update_progress"


@pytest.mark.parametrize("progress", ["42", '{"pct":5}', '"half"', "null"])
def test_progress_is_stored_and_announced(run, queue, store, dump, progress):
    store("1", "active")
    assert run(SCRIPT, queue, "1", progress) == 0
    assert dump(queue)["1"]["progress"] == progress
    assert dump(queue)["events"] == [[("event", "progress"), ("jobId", "1"), ("data", progress)]]


def test_the_stream_is_trimmed(run, queue, client, store):
    store("1", "active")
    client.hset(f"bull:{queue}:meta", "opts.maxLenEvents", 10)
    for n in range(300):
        run(SCRIPT, queue, "1", n)
    assert client.xlen(f"bull:{queue}:events") < 200


def test_a_missing_job_is_reported_and_not_created(run, queue, dump):
    assert run(SCRIPT, queue, "1", "42") == -1
    assert dump(queue) == {}


@pytest.mark.parametrize(("keep", "kept"), [("2", ["second", "third"]), ("", ["first", "second", "third"])])
def test_a_row_is_logged_in_the_same_call(run, queue, client, store, dump, keep, kept):
    store("1", "active")
    for progress, row in [("1", "first"), ("2", "second"), ("3", "third")]:
        assert run(SCRIPT, queue, "1", progress, row, keep) == 0
    assert dump(queue)["1:logs"] == kept
    assert dump(queue)["1"]["progress"] == "3"


def test_a_row_of_a_missing_job_is_not_logged(run, queue, dump):
    assert run(SCRIPT, queue, "1", "50", "row", "") == -1
    assert dump(queue) == {}
