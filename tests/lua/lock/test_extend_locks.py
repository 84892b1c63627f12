"""lua/lock/extend_locks.lua: renewing the locks of running jobs."""

import pytest
import redis

SCRIPT = "lock/extend_locks"


def test_no_jobs_means_no_failures_and_no_writes(run, queue, dump):
    assert run(SCRIPT, queue, 30_000) == []
    assert dump(queue) == {}


def test_an_owned_lock_is_renewed_and_the_job_leaves_the_stalled_set(run, client, queue, activate, dump):
    activate(queue, "1", "w:0")
    client.sadd(f"bull:{queue}:stalled", "1", "2")
    assert run(SCRIPT, queue, 90_000, "1", "w:0") == []
    assert 60_000 < client.pttl(f"bull:{queue}:1:lock") <= 90_000
    assert dump(queue)["1:lock"] == "w:0"
    assert dump(queue)["stalled"] == {"2"}


def test_an_expired_and_a_foreign_lock_are_reported_and_not_changed(run, client, queue, activate, dump):
    activate(queue, "gone")
    activate(queue, "foreign", "other:5")
    activate(queue, "mine", "w:1")
    client.sadd(f"bull:{queue}:stalled", "gone", "foreign", "mine")
    assert run(SCRIPT, queue, 90_000, "gone", "w:0", "foreign", "w:0", "mine", "w:1") == ["gone", "foreign"]
    state = dump(queue)
    assert state["stalled"] == {"gone", "foreign"}
    assert state["foreign:lock"] == "other:5"
    assert "gone:lock" not in state
    assert client.pttl(f"bull:{queue}:foreign:lock") <= 30_000


def test_thousands_of_locks_are_renewed_in_one_call(run, client, queue, activate):
    pairs = []
    for n in range(2_500):
        client.set(f"bull:{queue}:{n}:lock", f"w:{n}", px=30_000)
        pairs += [n, f"w:{n}" if n % 1000 else "not mine"]
    assert run(SCRIPT, queue, 90_000, *pairs) == ["0", "1000", "2000"]
    assert client.pttl(f"bull:{queue}:2499:lock") > 60_000


def test_an_id_without_a_token_counts_as_lost(run, queue, activate, dump):
    activate(queue, "1", "w:0")
    before = dump(queue)
    assert run(SCRIPT, queue, 30_000, "1") == ["1"]
    assert dump(queue) == before


def test_a_malformed_duration_changes_nothing(run, client, queue, activate, dump):
    activate(queue, "1", "w:0")
    client.sadd(f"bull:{queue}:stalled", "1")
    before = dump(queue)
    with pytest.raises(redis.ResponseError):
        run(SCRIPT, queue, "soon", "1", "w:0")
    assert dump(queue) == before
