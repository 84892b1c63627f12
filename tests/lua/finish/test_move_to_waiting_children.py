"""lua/finish/move_to_waiting_children.lua: an active job waits for its children."""

import pytest
import redis

SCRIPT = "finish/move_to_waiting_children"
NOW = 1795225366409


@pytest.fixture
def parent(active, client, queue):
    """The active job 1 with two unfinished children."""
    active(queue)
    client.sadd(f"bull:{queue}:1:dependencies", "bull:c:1", "bull:c:2")


def test_an_unknown_job_is_refused(run, queue, dump):
    assert run(SCRIPT, queue, NOW, "x", "t", "") == -1
    assert dump(queue) == {}


@pytest.mark.parametrize("args", [[], [NOW, "1", "t"], ["x", "1", "t", ""]])
def test_malformed_arguments_are_refused(run, parent, queue, dump, args):
    before = dump(queue)
    with pytest.raises(redis.ResponseError, match="move_to_waiting_children"):
        run(SCRIPT, queue, *args)
    assert dump(queue) == before


@pytest.mark.parametrize("child", ["", "bull:c:2"])
def test_a_parent_waits_for_unfinished_children(run, parent, client, queue, dump, events, child):
    client.sadd(f"bull:{queue}:stalled", "1")
    assert run(SCRIPT, queue, NOW, "1", "t", child) == 0
    after = dump(queue)
    assert after["waiting-children"] == [("1", NOW)]
    assert {"active", "stalled", "1:lock"}.isdisjoint(after)
    assert "atm" not in after["1"]
    assert events(queue)[-1] == "waiting-children 1 active"


def test_without_such_a_child_the_job_stays_active(run, active, parent, queue, dump):
    before = dump(queue)
    assert run(SCRIPT, queue, NOW, "1", "t", "bull:c:3") == 1
    assert dump(queue) == before


def test_without_any_child_the_job_stays_active(run, active, queue, dump):
    active(queue)
    before = dump(queue)
    assert run(SCRIPT, queue, NOW, "1", "t", "") == 1
    assert dump(queue) == before


def test_a_failed_child_is_reported_before_the_lock_is_checked(run, parent, client, queue, dump):
    client.zadd(f"bull:{queue}:1:unsuccessful", {"bull:c:3": NOW})
    before = dump(queue)
    assert run(SCRIPT, queue, NOW, "1", "other", "") == -9
    assert dump(queue) == before


def test_a_missing_lock_and_a_foreign_lock_have_different_codes(run, parent, client, queue, dump):
    before = dump(queue)
    assert run(SCRIPT, queue, NOW, "1", "other", "") == -6
    assert dump(queue) == before
    client.delete(f"bull:{queue}:1:lock")
    assert run(SCRIPT, queue, NOW, "1", "t", "") == -2
    assert run(SCRIPT, queue, NOW, "1", "0", "") == 0


def test_a_job_that_is_not_active_does_not_wait(run, parent, client, queue, dump):
    client.delete(f"bull:{queue}:active")
    assert run(SCRIPT, queue, NOW, "1", "t", "") == -3
    assert "waiting-children" not in dump(queue)
