"""lua/manage/retry_jobs.lua: moving all failed (or completed) jobs back to wait, the oldest first."""

import pytest
import redis

SCRIPT = "manage/retry_jobs"


def test_nothing_to_retry_changes_nothing(run, queue, dump):
    assert run(SCRIPT, queue, "failed", 1000, 99) == 0
    assert dump(queue) == {}


@pytest.mark.parametrize(("state", "outcome"), [("failed", "failedReason"), ("completed", "returnvalue")])
def test_jobs_wait_again_in_the_order_in_which_they_finished(run, queue, store, dump, events, state, outcome):
    store("9", "wait")
    for score, job_id in enumerate("213"):
        store(job_id, state, score, finishedOn=score, processedOn=1, atm=1, priority=4, **{outcome: "x"})
    assert run(SCRIPT, queue, state, 1000, 99) == 0
    after = dump(queue)
    assert after["wait"] == ["3", "1", "2", "9"]
    assert state not in after
    assert not {"finishedOn", "processedOn", outcome} & after["1"].keys()
    assert (after["1"]["atm"], after["1"]["priority"]) == ("1", "4")
    assert after["marker"] == [("0", 0)]
    assert events(queue) == [f"waiting {job_id} {state}" for job_id in "213"]


@pytest.mark.parametrize(("count", "more", "left"), [(2, 1, 1), (3, 1, 0), (4, 0, 0), (0, 0, 3)])
def test_a_call_moves_at_most_count_jobs_and_says_if_there_may_be_more(run, queue, store, dump, count, more, left):
    for score in range(3):
        store(str(score), "failed", score)
    assert run(SCRIPT, queue, "failed", count, 99) == more
    assert len(dump(queue).get("failed", [])) == left


def test_jobs_that_finished_later_stay(run, queue, store, dump):
    store("1", "failed", 10)
    store("2", "failed", 11)
    assert run(SCRIPT, queue, "failed", 1000, 10) == 0
    assert dump(queue)["failed"] == [("2", 11)]


def test_in_a_paused_queue_no_marker_is_set(run, queue, store, pause, dump):
    store("1", "failed", 10)
    pause()
    run(SCRIPT, queue, "failed", 1000, 99)
    assert dump(queue)["paused"] == ["1"]
    assert "marker" not in dump(queue)


def test_thousands_of_jobs_move_in_one_call(run, queue, client):
    client.zadd(f"bull:{queue}:failed", {str(n): n for n in range(2_500)})
    assert run(SCRIPT, queue, "failed", 5_000, 9_999) == 0
    assert client.lrange(f"bull:{queue}:wait", 0, -1) == [str(n) for n in range(2_499, -1, -1)]


def test_a_state_that_cannot_be_retried_is_refused(run, queue, store, dump):
    store("1", "delayed", 5)
    before = dump(queue)
    assert run(SCRIPT, queue, "delayed", 1000, 99) == -3
    assert dump(queue) == before


@pytest.mark.parametrize("arguments", [("many", 99), (10, "never")])
def test_malformed_numbers_change_nothing(run, queue, store, dump, arguments):
    store("1", "failed", 5)
    before = dump(queue)
    with pytest.raises(redis.ResponseError):
        run(SCRIPT, queue, "failed", *arguments)
    assert dump(queue) == before
