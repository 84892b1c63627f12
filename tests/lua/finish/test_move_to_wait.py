"""lua/finish/move_to_wait.lua: an active job is given back."""

import pytest
import redis

SCRIPT = "finish/move_to_wait"


def test_an_unknown_job_is_refused(run, queue, dump):
    assert run(SCRIPT, queue, "x", "t") == -1
    assert dump(queue) == {}


@pytest.mark.parametrize("args", [[], ["1"]])
def test_malformed_arguments_are_refused(run, active, queue, dump, args):
    active(queue)
    before = dump(queue)
    with pytest.raises(redis.ResponseError, match="move_to_wait"):
        run(SCRIPT, queue, *args)
    assert dump(queue) == before


def test_a_job_given_back_is_next_and_no_attempt_is_counted(run, active, add, client, queue, dump, events):
    active(queue)
    add(queue, "other")
    client.sadd(f"bull:{queue}:stalled", "1")
    assert run(SCRIPT, queue, "1", "t") == 0
    after = dump(queue)
    assert after["wait"] == ["2", "1"]
    assert "atm" not in after["1"]
    assert {"active", "stalled", "1:lock"}.isdisjoint(after)
    assert events(queue)[-1] == "waiting 1 active"


def test_a_prioritized_job_goes_before_its_priority(run, active, add, queue, dump):
    active(queue, priority=3)
    add(queue, "other", priority=3)
    run(SCRIPT, queue, "1", "t")
    assert [job for job, _ in dump(queue)["prioritized"]] == ["1", "2"]


@pytest.mark.parametrize("priority", [0, 3])
def test_a_job_given_back_wakes_a_worker(run, active, client, queue, dump, priority):
    active(queue, priority=priority)
    client.delete(f"bull:{queue}:marker")
    run(SCRIPT, queue, "1", "t")
    assert dump(queue)["marker"] == [("0", 0)]


@pytest.mark.parametrize("priority", [0, 3])
def test_at_the_global_concurrency_no_worker_is_woken(run, active, client, queue, dump, priority):
    active(queue, 2, priority=priority)
    client.hset(f"bull:{queue}:meta", "concurrency", 1)
    client.delete(f"bull:{queue}:marker")
    run(SCRIPT, queue, "1", "t")
    assert "marker" not in dump(queue)


def test_the_time_until_the_rate_limit_ends_is_returned(run, active, client, queue):
    active(queue)
    client.set(f"bull:{queue}:limiter", 9007199254740991, px=5000)
    assert 0 < run(SCRIPT, queue, "1", "t") <= 5000


def test_a_missing_lock_and_a_foreign_lock_have_different_codes(run, active, client, queue, dump):
    active(queue, 2)
    client.delete(f"bull:{queue}:1:lock")
    before = dump(queue)
    assert run(SCRIPT, queue, "1", "t") == -2
    assert run(SCRIPT, queue, "2", "other") == -6
    assert dump(queue) == before
    assert run(SCRIPT, queue, "1", "0") == 0


def test_a_job_that_is_not_active_stays_where_it_is(run, active, client, queue, dump, events):
    active(queue)
    client.delete(f"bull:{queue}:active")
    before = events(queue)
    assert run(SCRIPT, queue, "1", "t") == 0
    assert "wait" not in dump(queue)
    assert events(queue) == before


def test_in_a_paused_queue_it_is_next_after_the_pause(run, active, add, client, queue, dump):
    active(queue)
    client.hset(f"bull:{queue}:meta", "paused", 1)
    client.delete(f"bull:{queue}:marker")
    add(queue, "other")
    run(SCRIPT, queue, "1", "t")
    assert dump(queue)["paused"] == ["2", "1"]
    assert "marker" not in dump(queue)
