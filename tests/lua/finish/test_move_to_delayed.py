"""lua/finish/move_to_delayed.lua: an active job is delayed."""

import pytest
import redis

SCRIPT = "finish/move_to_delayed"
NOW = 1795225366409


def test_an_unknown_job_is_refused(run, queue, dump):
    assert run(SCRIPT, queue, NOW, "x", "t", 100, 0, "", "") == -1
    assert dump(queue) == {}


@pytest.mark.parametrize(
    "args", [[], [NOW, "1", "t", 100, 0, ""], ["x", "1", "t", 100, 0, "", ""], [NOW, "1", "t", "soon", 0, "", ""]]
)
def test_malformed_arguments_are_refused(run, active, queue, dump, args):
    active(queue)
    before = dump(queue)
    with pytest.raises(redis.ResponseError, match="move_to_delayed"):
        run(SCRIPT, queue, *args)
    assert dump(queue) == before


def test_a_backoff_counts_the_attempt_and_records_the_failure(run, active, client, queue, dump, events):
    active(queue)
    client.sadd(f"bull:{queue}:stalled", "1")
    assert run(SCRIPT, queue, NOW, "1", "t", 700, 0, "boom", '["s"]') == 0
    after = dump(queue)
    assert after["delayed"] == [("1", (NOW + 700) * 4096)]
    assert after["1"]["delay"] == "700"
    assert after["1"]["atm"] == "1"
    assert after["1"]["failedReason"] == "boom"
    assert after["1"]["stacktrace"] == '["s"]'
    assert ("1", NOW + 700) in after["marker"]
    assert {"active", "stalled", "1:lock"}.isdisjoint(after)
    assert events(queue)[-1] == f"delayed 1 {NOW + 700}"


def test_a_job_that_delays_itself_counts_no_attempt(run, active, queue, dump):
    active(queue)
    assert run(SCRIPT, queue, NOW, "1", "t", 700, 1, "", "") == 0
    assert "atm" not in dump(queue)["1"]
    assert "failedReason" not in dump(queue)["1"]


def test_jobs_due_in_the_same_ms_keep_their_order(run, active, queue, dump):
    active(queue, 2)
    run(SCRIPT, queue, NOW, "2", "t", 700, 0, "", "")
    run(SCRIPT, queue, NOW + 600, "1", "t", 100, 0, "", "")
    due = (NOW + 700) * 4096
    assert dump(queue)["delayed"] == [("2", due), ("1", due + 1)]


def test_without_a_delay_it_is_due_now(run, active, queue, dump, events):
    active(queue)
    run(SCRIPT, queue, NOW, "1", "t", 0, 1, "", "")
    assert dump(queue)["delayed"] == [("1", NOW * 4096)]
    assert events(queue)[-1] == f"delayed 1 {NOW}"


def test_a_missing_lock_and_a_foreign_lock_have_different_codes(run, active, client, queue, dump):
    active(queue, 2)
    client.delete(f"bull:{queue}:1:lock")
    before = dump(queue)
    assert run(SCRIPT, queue, NOW, "1", "t", 5, 0, "boom", "[]") == -2
    assert run(SCRIPT, queue, NOW, "2", "other", 5, 0, "boom", "[]") == -6
    assert dump(queue) == before
    assert run(SCRIPT, queue, NOW, "1", "0", 5, 0, "boom", "[]") == 0


def test_a_job_that_is_not_active_is_not_delayed(run, active, client, queue, dump):
    active(queue)
    client.delete(f"bull:{queue}:active")
    assert run(SCRIPT, queue, NOW, "1", "t", 5, 0, "boom", "[]") == -3
    assert dump(queue)["1"]["failedReason"] == "boom"
    assert "delayed" not in dump(queue)
