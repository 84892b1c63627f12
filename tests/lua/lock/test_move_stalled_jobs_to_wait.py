"""lua/lock/move_stalled_jobs_to_wait.lua: recovering jobs whose worker died."""

import json

import pytest
import redis

SCRIPT = "lock/move_stalled_jobs_to_wait"
NOW = 1795225366409


@pytest.fixture
def sweep(run, queue):
    """One call of the pass on the test's queue."""

    def call(max_stalled=1, limit=1000, continued=False, interval=30_000):
        return run(SCRIPT, queue, NOW, max_stalled, interval, limit, continued)

    return call


def test_an_empty_queue_only_gets_the_guard(sweep, queue, client, dump):
    assert sweep() == [0]
    assert dump(queue) == {"stalled-check": str(NOW), "meta": {"opts.maxLenEvents": "10000"}}
    assert 0 < client.pttl(f"bull:{queue}:stalled-check") <= 30_000


def test_the_guard_blocks_a_second_pass(sweep, queue, client, activate, dump):
    client.set(f"bull:{queue}:stalled-check", 1, px=30_000)
    activate(queue, "1")
    client.sadd(f"bull:{queue}:stalled", "1")
    before = dump(queue)
    assert sweep() == [0]
    assert dump(queue) == before


def test_the_first_pass_marks_active_jobs_and_recovers_none(sweep, queue, activate, dump):
    activate(queue, "1")
    activate(queue, "2", "w:0")
    assert sweep() == [0]
    assert dump(queue)["stalled"] == {"1", "2"}
    assert dump(queue)["active"] == ["2", "1"]


def test_a_marked_job_without_a_lock_goes_back_to_run_next(sweep, queue, client, activate, dump, events):
    for job_id, token in (("1", "w:0"), ("2", None), ("3", "w:1"), ("4", "w:2")):
        activate(queue, job_id, token)
    client.sadd(f"bull:{queue}:stalled", "2", "3")
    client.lpush(f"bull:{queue}:wait", "9")
    assert sweep() == [0, "2"]
    state = dump(queue)
    assert state["active"] == ["4", "3", "1"]
    assert state["wait"] == ["9", "2"]
    assert state["stalled"] == {"1", "3", "4"}
    assert state["2"] == {"name": "n", "data": "{}", "opts": "{}", "ats": "1", "stc": "1"}
    assert state["marker"] == [("0", 0)]
    assert events(queue) == ["waiting 2 active", "stalled 2"]


def test_a_marked_job_that_is_no_longer_active_is_not_recovered(sweep, queue, client, dump, events):
    client.sadd(f"bull:{queue}:stalled", "1")
    assert sweep() == [0]
    assert "stalled" not in dump(queue)
    assert "1" not in dump(queue)
    assert events(queue) == []


def test_a_job_past_its_limit_has_a_deferred_failure(sweep, queue, client, activate, dump):
    activate(queue, "1", stc=1)
    client.sadd(f"bull:{queue}:stalled", "1")
    assert sweep(max_stalled=1) == [0, "1"]
    assert dump(queue)["1"]["stc"] == "2"
    assert dump(queue)["1"]["defa"] == "job stalled more than allowable limit"
    assert dump(queue)["wait"] == ["1"]


@pytest.mark.parametrize(
    ("opts", "exempt"),
    [
        (json.dumps({"repeat": {"every": 5}}), True),
        (json.dumps({"jobId": '"repeat"'}), False),
        ('{"repeat" broken', False),
        ('"repeat"', False),
    ],
)
def test_only_a_scheduler_job_is_exempt_from_the_limit(sweep, queue, client, activate, dump, opts, exempt):
    activate(queue, "1", opts=opts)
    client.sadd(f"bull:{queue}:stalled", "1")
    assert sweep(max_stalled=0) == [0, "1"]
    assert ("defa" not in dump(queue)["1"]) is exempt


def test_in_a_paused_queue_jobs_go_to_paused_without_a_marker(sweep, queue, client, activate, dump):
    activate(queue, "1")
    client.sadd(f"bull:{queue}:stalled", "1")
    client.hset(f"bull:{queue}:meta", "paused", 1)
    assert sweep() == [0, "1"]
    assert dump(queue)["paused"] == ["1"]
    assert "marker" not in dump(queue)


@pytest.mark.parametrize(("concurrency", "woken"), [(1, False), (2, True)])
def test_global_concurrency_is_checked_after_the_jobs_left_active(
    sweep, queue, client, activate, dump, concurrency, woken
):
    activate(queue, "1")
    activate(queue, "2", "w:0")
    client.sadd(f"bull:{queue}:stalled", "1")
    client.hset(f"bull:{queue}:meta", "concurrency", concurrency)
    assert sweep() == [0, "1"]
    assert ("marker" in dump(queue)) is woken


def test_the_limit_leaves_the_rest_for_the_next_call(sweep, queue, client, activate, dump, events):
    for n in range(1, 6):
        activate(queue, str(n), "w:0" if n == 2 else None)
    client.sadd(f"bull:{queue}:stalled", *"12345")
    assert sweep(limit=2) == [1, "1", "3"]
    assert dump(queue)["active"] == ["5", "4", "2"]
    assert dump(queue)["stalled"] == {"2", "4", "5"}
    assert sweep(limit=2) == [0], "the guard holds against everyone who does not continue this pass"
    assert sweep(limit=2, continued=True) == [0, "4", "5"]
    assert dump(queue)["active"] == ["2"]
    assert dump(queue)["wait"] == ["1", "3", "4", "5"]
    assert dump(queue)["stalled"] == {"2"}
    assert len(events(queue)) == 8


def test_as_many_as_the_limit_is_a_whole_pass(sweep, queue, client, activate, dump):
    for job_id, token in (("1", None), ("2", None), ("3", "w:0")):
        activate(queue, job_id, token)
    client.sadd(f"bull:{queue}:stalled", "1", "2", "3")
    assert sweep(limit=2) == [0, "1", "2"]
    assert dump(queue)["stalled"] == {"3"}


def test_an_active_id_whose_hash_is_gone_gets_none(sweep, queue, client, dump, events):
    """It goes where the next fetch drops it."""
    client.lpush(f"bull:{queue}:active", "gone")
    client.sadd(f"bull:{queue}:stalled", "gone")
    assert sweep() == [0]
    state = dump(queue)
    assert (state["wait"], "active" in state, "gone" in state) == (["gone"], False, False)
    assert events(queue) == ["waiting gone active"]


@pytest.mark.parametrize("limit", [700, 1000, 5000])
def test_thousands_of_stalled_jobs_all_come_back_once_and_the_others_keep_their_order(
    sweep, queue, client, activate, dump, limit
):
    healthy = {n for n in range(3_300) if n % 7 == 3}
    with client.pipeline() as pipe:
        for n in range(3_300):
            pipe.hset(f"bull:{queue}:{n}", "ats", 1)
            pipe.lpush(f"bull:{queue}:active", n)
            pipe.sadd(f"bull:{queue}:stalled", n)
            if n in healthy:
                pipe.set(f"bull:{queue}:{n}:lock", "w:0", px=30_000)
        pipe.execute()
    recovered = []
    more, *ids = sweep(limit=limit)
    recovered += ids
    while more:
        assert len(ids) == limit
        more, *ids = sweep(limit=limit, continued=True)
        recovered += ids
    state = dump(queue)
    assert sorted(map(int, recovered)) == [n for n in range(3_300) if n not in healthy]
    assert state["wait"] == recovered
    assert state["active"] == [str(n) for n in sorted(healthy, reverse=True)]
    assert state["stalled"] == set(state["active"])


@pytest.mark.parametrize("broken", [("x", 30_000, 10), (1, "x", 10), (1, 30_000, "x"), (1, 0, 10)])
def test_malformed_numbers_change_nothing(run, queue, client, activate, dump, broken):
    activate(queue, "1")
    client.sadd(f"bull:{queue}:stalled", "1")
    before = dump(queue)
    with pytest.raises(redis.ResponseError):
        run(SCRIPT, queue, NOW, *broken, False)
    assert dump(queue) == before


def test_an_id_whose_key_is_no_hash_leaves_active_and_stops_no_other_job(sweep, queue, client, activate, dump):
    activate(queue, "1")
    client.set(f"bull:{queue}:bad", "not a job")
    client.lpush(f"bull:{queue}:active", "bad")
    client.sadd(f"bull:{queue}:stalled", "1", "bad")
    assert sweep() == [0, "1"]
    after = dump(queue)
    assert after["wait"] == ["1"]
    assert "active" not in after
    assert after["bad"] == "not a job"


def test_no_stall_is_counted_for_a_job_that_was_only_claimed_ahead(sweep, add, fetch, client, queue, dump, events):
    add(queue, "a", "b")
    client.hset(f"bull:{queue}:2", mapping={"ats": 2, "atm": 2, "processedOn": 5})  # retried, and not started again
    fetch(queue, 2, slots=0)
    client.delete(f"bull:{queue}:1:lock", f"bull:{queue}:2:lock")
    client.sadd(f"bull:{queue}:stalled", "1", "2")
    assert sweep(max_stalled=0) == [0]
    after = dump(queue)
    assert sorted(after["wait"]) == ["1", "2"]
    assert [after[n]["stc"] for n in "12"] == ["0", "0"]
    assert not {"defa", "ats"} & set(after["1"])
    assert sorted(events(queue)[-2:]) == ["waiting 1 active", "waiting 2 active"]


def test_a_stall_is_counted_for_a_job_of_an_old_version_without_starts(sweep, activate, client, queue, dump):
    activate(queue, "1")
    client.hdel(f"bull:{queue}:1", "ats")
    client.hset(f"bull:{queue}:1", "processedOn", 5)
    client.sadd(f"bull:{queue}:stalled", "1")
    assert sweep() == [0, "1"]
    assert dump(queue)["1"]["stc"] == "1"


def test_a_job_whose_finish_stopped_half_way_only_leaves_active(sweep, activate, client, queue, dump):
    activate(queue, "1")
    client.hset(f"bull:{queue}:1", "finishedOn", 5)
    client.zadd(f"bull:{queue}:completed", {"1": 5})
    client.sadd(f"bull:{queue}:stalled", "1")
    assert sweep() == [0]
    assert not {"wait", "active"} & set(dump(queue))
