"""lua/finish/retry_job.lua: a failed attempt goes back at once."""

import pytest
import redis

SCRIPT = "finish/retry_job"
NOW = 1795225366409


def test_an_unknown_job_is_refused_but_due_jobs_are_promoted(run, add, queue, dump, events):
    add(queue, "due", delay=1)
    assert run(SCRIPT, queue, NOW + 1, "x", "t", 0, "boom", "[]") == -1
    assert dump(queue)["wait"] == ["1"]
    assert events(queue)[-1] == "waiting 1 delayed"


@pytest.mark.parametrize("args", [[], [NOW, "1", "t", 0, "boom"], ["now", "1", "t", 0, "boom", "[]"]])
def test_malformed_arguments_are_refused(run, active, queue, dump, args):
    active(queue)
    before = dump(queue)
    with pytest.raises(redis.ResponseError, match="retry_job"):
        run(SCRIPT, queue, *args)
    assert dump(queue) == before


@pytest.mark.parametrize(("lifo", "wait"), [(0, ["1", "2"]), (1, ["2", "1"])])
def test_a_retried_job_waits_again_and_its_failure_is_recorded(
    run, active, add, client, queue, dump, events, lifo, wait
):
    active(queue)
    add(queue, "other")
    client.sadd(f"bull:{queue}:stalled", "1")
    assert run(SCRIPT, queue, NOW, "1", "t", lifo, "boom", '["s"]') == 0
    after = dump(queue)
    assert after["wait"] == wait
    assert after["1"]["atm"] == "1"
    assert after["1"]["failedReason"] == "boom"
    assert after["1"]["stacktrace"] == '["s"]'
    assert {"active", "stalled", "1:lock"}.isdisjoint(after)
    assert events(queue)[-1] == "waiting 1 active"


def test_without_a_failure_the_fields_stay(run, active, queue, dump):
    active(queue)
    run(SCRIPT, queue, NOW, "1", "t", 0, "", "")
    assert "failedReason" not in dump(queue)["1"]
    assert "stacktrace" not in dump(queue)["1"]


def test_a_prioritized_job_goes_behind_jobs_of_equal_priority(run, active, add, queue, dump):
    active(queue, priority=3)
    add(queue, "other", priority=3)
    run(SCRIPT, queue, NOW, "1", "t", 0, "boom", "[]")
    assert [job for job, _ in dump(queue)["prioritized"]] == ["2", "1"]


def test_a_missing_lock_and_a_foreign_lock_have_different_codes(run, active, client, queue, dump):
    active(queue, 2)
    client.delete(f"bull:{queue}:1:lock")
    before = dump(queue)
    assert run(SCRIPT, queue, NOW, "1", "t", 0, "boom", "[]") == -2
    assert run(SCRIPT, queue, NOW, "2", "other", 0, "boom", "[]") == -6
    assert dump(queue) == before
    assert run(SCRIPT, queue, NOW, "1", "0", 0, "boom", "[]") == 0


def test_a_lock_key_that_holds_something_else_is_a_foreign_lock(run, active, client, queue, dump):
    active(queue, 1)
    client.delete(f"bull:{queue}:1:lock")
    client.sadd(f"bull:{queue}:1:lock", "something else")
    before = dump(queue)
    assert run(SCRIPT, queue, NOW, "1", "t", 0, "boom", "[]") == -6
    assert dump(queue) == before


def test_a_job_whose_key_is_no_hash_any_more_is_no_job(run, active, client, queue, dump):
    active(queue, 1)
    client.delete(f"bull:{queue}:1")
    client.sadd(f"bull:{queue}:1", "something else")
    before = dump(queue)
    assert run(SCRIPT, queue, NOW, "1", "t", 0, "boom", "[]") == -1
    assert dump(queue) == before


def test_a_job_that_is_not_active_is_recorded_but_not_retried(run, active, client, queue, dump):
    active(queue)
    client.delete(f"bull:{queue}:active")
    assert run(SCRIPT, queue, NOW, "1", "t", 0, "boom", "[]") == -3
    after = dump(queue)
    assert after["1"]["failedReason"] == "boom"
    assert "atm" not in after["1"]
    assert "wait" not in after


def test_below_the_global_concurrency_again_it_sets_the_marker(run, active, client, queue, dump):
    active(queue)
    client.hset(f"bull:{queue}:meta", "concurrency", 1)
    client.delete(f"bull:{queue}:marker")
    run(SCRIPT, queue, NOW, "1", "t", 0, "boom", "[]")
    assert dump(queue)["marker"] == [("0", 0.0)]


def test_in_a_paused_queue_it_waits_with_the_others(run, active, client, queue, dump):
    active(queue)
    client.hset(f"bull:{queue}:meta", "paused", 1)
    client.delete(f"bull:{queue}:marker")
    run(SCRIPT, queue, NOW, "1", "t", 0, "boom", "[]")
    assert dump(queue)["paused"] == ["1"]
    assert "marker" not in dump(queue)
