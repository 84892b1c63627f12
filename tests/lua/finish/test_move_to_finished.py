"""lua/finish/move_to_finished.lua: finishing jobs in batches, and fetching the next ones."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

SCRIPT = "finish/move_to_finished"
NOW = 1795225366409
HEAD = [NOW, 0, 0, "t", 30_000, "", "", "", 0, "", 0, ""]


def test_no_runs_finish_nothing(finish, queue, dump):
    assert finish(queue) == ({}, (0, 0, {}))
    assert dump(queue) == {}


@pytest.mark.parametrize(
    "args",
    [
        [],
        HEAD[:11],
        ["x", *HEAD[1:]],
        [*HEAD, 1, "completed", "t", -1, "", "", "", "", "1"],
        [*HEAD, 2, "completed", "t", -1, "", "", "", "", "1", "null"],
        [*HEAD, 2, "completed", "t", -1, "", "", 8, "null", "1"],
        [*HEAD, 1, "completed", "t", -1, "", "", 8],
        [*HEAD, 1, "completed", "t", -1, "", 1, 8, "null", "1"],
        [*HEAD, 1, "failed", "t", -1, "", "", "", "", "1", "reason", "[]"],
        [*HEAD, 1, "finished", "t", -1, "", "", "", "", "1", "null"],
        [*HEAD, 1, "completed", "t", "all", "", "", "", "", "1", "null"],
        [*HEAD, "x", "completed", "t", -1, "", "", "", "", "1", "null"],
        [*HEAD, 1, "completed", "t", -1, "", "", "", "", "1", "null", 1, "completed"],
    ],
)
def test_malformed_runs_are_refused_before_anything_is_written(run, active, queue, dump, args):
    active(queue)
    before = dump(queue)
    with pytest.raises(redis.ResponseError, match="move_to_finished"):
        run(SCRIPT, queue, *args)
    assert dump(queue) == before


def test_a_completed_job_has_its_result_and_nothing_of_the_attempt_remains(active, finish, client, queue, dump, events):
    active(queue)
    client.sadd(f"bull:{queue}:stalled", "1")
    assert finish(queue, ("1", '{"ok":true}')) == ({}, (0, 0, {}))
    after = dump(queue)
    assert after["completed"] == [("1", NOW)]
    assert {key: after["1"][key] for key in ("returnvalue", "finishedOn", "atm", "ats")} == {
        "returnvalue": '{"ok":true}',
        "finishedOn": str(NOW),
        "atm": "1",
        "ats": "1",
    }
    assert set(after) == {"1", "completed", "events", "id", "marker", "meta"}
    assert events(queue)[-2:] == ['completed 1 {"ok":true} active', "drained"]


def test_a_failed_job_has_its_reason_and_the_last_attempt_is_announced(active, finish, client, queue, dump, events):
    active(queue)
    client.hset(f"bull:{queue}:1", mapping={"atm": 2, "defa": "deferred"})
    finish(queue, ("1", "boom", '["at x"]', 3), target="failed")
    after = dump(queue)
    assert after["failed"] == [("1", NOW)]
    assert {key: after["1"].get(key) for key in ("failedReason", "stacktrace", "finishedOn", "atm", "defa")} == {
        "failedReason": "boom",
        "stacktrace": '["at x"]',
        "finishedOn": str(NOW),
        "atm": "3",
        "defa": None,
    }
    assert events(queue)[-3:] == ["failed 1 boom active", "retries-exhausted 1 3", "drained"]


def test_a_failure_with_attempts_left_does_not_announce_the_last_one(active, finish, queue, events):
    active(queue)
    finish(queue, ("1", "boom", "[]", 3), target="failed")
    assert events(queue)[-2:] == ["failed 1 boom active", "drained"]


def test_each_refused_job_has_its_code_and_the_others_finish(active, finish, client, queue, dump):
    active(queue, 6)
    prefix = f"bull:{queue}:"
    client.delete(f"{prefix}1")
    client.delete(f"{prefix}2:lock")
    client.set(f"{prefix}3:lock", "other")
    client.lrem(f"{prefix}active", 1, "4")
    client.sadd(f"{prefix}5:dependencies", "bull:x:1")
    client.zadd(f"{prefix}6:unsuccessful", {"bull:x:1": 1})
    active(queue)
    before = dump(queue)
    refused, _ = finish(queue, *[(str(n), "null") for n in range(1, 8)])
    assert refused == {0: -1, 1: -2, 2: -6, 3: -3, 4: -4, 5: -9}
    after = dump(queue)
    assert after["completed"] == [("7", NOW)]
    assert after["active"] == ["6", "5", "3", "2", "1"]
    assert [after[job] for job in "23456"] == [before[job] for job in "23456"]
    assert "4:lock" not in after
    assert {job for job in "356" if f"{job}:lock" in after} == {"3", "5", "6"}


def test_a_failure_that_is_not_active_any_more_is_recorded_but_not_finished(active, finish, client, queue, dump):
    active(queue)
    client.delete(f"bull:{queue}:active")
    refused, _ = finish(queue, ("1", "boom", '["s"]', 1), target="failed")
    assert refused == {0: -3}
    assert dump(queue)["1"]["failedReason"] == "boom"
    assert "finishedOn" not in dump(queue)["1"]
    assert "failed" not in dump(queue)


def test_pending_children_do_not_keep_a_job_from_failing(active, finish, client, queue):
    active(queue)
    client.sadd(f"bull:{queue}:1:dependencies", "bull:x:1")
    assert finish(queue, ("1", "boom", "[]", 1), target="failed")[0] == {}


def test_the_same_job_twice_in_a_batch_finishes_once(active, finish, queue, dump):
    active(queue)
    refused, _ = finish(queue, ("1", "1"), ("1", "2"))
    assert refused == {1: -2}
    assert dump(queue)["1"]["returnvalue"] == "1"


def test_token_zero_checks_no_lock_and_deletes_none(active, finish, queue, dump):
    active(queue)
    assert finish(queue, ("1", "null"), token="0")[0] == {}
    assert dump(queue)["1:lock"] == "t"


def test_the_next_jobs_come_with_the_same_call(active, add, finish, queue, dump, events):
    active(queue)
    add(queue, "a", "b", "c")
    _, fetched = finish(queue, ("1", "null"), fetch=2)
    assert list(fetched.jobs) == ["2", "3"]
    assert dump(queue)["2"] == {**fetched.jobs["2"], "ats": "1", "processedOn": str(NOW)}
    assert dump(queue)["2:lock"] == "t"
    assert events(queue)[-3:] == ["completed 1 null active", "active 2 waiting", "active 3 waiting"]


@pytest.mark.parametrize(
    ("take", "delayed", "meta", "drained"),
    [
        (0, False, {}, True),
        (1, False, {}, True),
        (0, True, {}, True),
        (1, True, {}, False),
        (0, False, {"paused": 1}, True),
        (1, False, {"paused": 1}, False),
        (1, False, {"max": 1, "duration": 60_000}, False),
    ],
)
def test_drained_is_announced_if_nothing_is_left_to_do(
    active, add, finish, client, queue, events, take, delayed, meta, drained
):
    active(queue)
    if delayed:
        add(queue, "later", delay=60_000)
    if meta:
        client.hset(f"bull:{queue}:meta", mapping=meta)
        client.set(f"bull:{queue}:limiter", 1, px=60_000)
    _, fetched = finish(queue, ("1", "null"), fetch=take)
    assert (events(queue)[-1] == "drained") == drained
    assert fetched.next_delayed == (NOW + 60_000 if delayed and take else 0)


@pytest.mark.parametrize("take", [1, 3])
def test_drained_is_announced_if_the_rest_are_ids_without_a_hash(active, add, finish, client, queue, events, take):
    active(queue)
    add(queue, "gone")
    client.delete(f"bull:{queue}:2")
    _, fetched = finish(queue, ("1", "null"), fetch=take)
    assert fetched.jobs == {"2": {}}
    assert events(queue)[-1] == "drained"


def test_drained_is_not_announced_if_every_job_was_refused(active, finish, client, queue, events):
    active(queue)
    client.delete(f"bull:{queue}:1")
    client.delete(f"bull:{queue}:active")
    finish(queue, ("1", "null"))
    assert events(queue)[-1] == "active 1 waiting"


def test_the_deduplication_key_is_released_unless_it_has_a_time_to_live(active, finish, client, queue, dump):
    active(queue, 3)
    prefix = f"bull:{queue}:"
    for job in "123":
        client.hset(prefix + job, "deid", f"d{job}")
    client.set(f"{prefix}de:d1", "1")
    client.set(f"{prefix}de:d2", "2", px=60_000)
    client.set(f"{prefix}de:d3", "another")
    finish(queue, ("1", "null"), ("2", "null"), ("3", "null"))
    assert {key for key in dump(queue) if key.startswith("de:")} == {"de:d2", "de:d3"}


def test_the_lock_of_the_next_job_is_the_token_of_the_call(active, add, run, queue, dump):
    active(queue)
    add(queue, "a")
    head = [NOW, 0, 1, "fresh", 30_000, "", "", "w", 1, "", 0, ""]
    run(SCRIPT, queue, *head, 1, "completed", "t", -1, "", "", "", "", "1", "null")
    assert dump(queue)["2:lock"] == "fresh"
    assert dump(queue)["2"]["pb"] == "w"


@pytest.mark.parametrize(
    ("target", "keep"), [("completed", -1), ("failed", -1), ("completed", 0), ("completed", 2), ("failed", 1)]
)
@pytest.mark.parametrize("take", [0, 1])
def test_a_batch_leaves_what_single_finishes_leave(active, add, finish, client, new_queue, dump, target, keep, take):
    batch, singles = new_queue(), new_queue()
    for queue in (batch, singles):
        active(queue, 5)
        add(queue, "next")
        client.delete(f"bull:{queue}:3:lock")
    results = [(str(n), "null") if target == "completed" else (str(n), "boom", "[]", 1) for n in range(1, 6)]
    options = {"target": target, "keep": keep, "points": 3}
    refused, fetched = finish(batch, *results, fetch=take, **options)
    codes = [finish(singles, result, fetch=take and result[0] == "5", **options) for result in results]
    assert dump(batch) == dump(singles)
    assert refused == {2: -2} == {index: code[0][0] for index, code in enumerate(codes) if code[0]}
    assert fetched == codes[-1][1]


def test_a_large_batch_in_any_order_takes_only_its_own_jobs_out_of_active(active, finish, client, new_queue, dump):
    batch, singles = new_queue(), new_queue()
    for queue in (batch, singles):
        active(queue, 24)
        client.lpush(f"bull:{queue}:active", "foreign", "5")
        client.rpush(f"bull:{queue}:active", "oldest")
        client.lrem(f"bull:{queue}:active", 1, "7")
    results = [(str(n), "null") for n in (*range(20, 0, -2), *range(1, 20, 2))]
    refused, _ = finish(batch, *results)
    codes = [finish(singles, result)[0] for result in results]
    assert refused == {index: code[0] for index, code in enumerate(codes) if code} == {13: -3}
    assert dump(batch) == dump(singles)
    assert dump(batch)["active"] == ["5", "foreign", "24", "23", "22", "21", "oldest"]


def test_completed_and_failed_runs_share_a_call(active, run, queue, dump):
    active(queue, 3)
    completed = [1, "completed", "t", -1, "", "", "", "", "1", "null"]
    failed = [2, "failed", "t", -1, "", "", "", "", "9", "boom", "[]", 1, "3", "boom", "[]", 1]
    assert run(SCRIPT, queue, *HEAD, *completed, *failed)[0] == [1, -1]
    assert dump(queue)["completed"] == [("1", NOW)]
    assert dump(queue)["failed"] == [("3", NOW)]


def test_a_batch_larger_than_one_command_can_take_finishes(active, finish, client, queue):
    ids = active(queue, 2500)
    refused, _ = finish(queue, *[(job, "null") for job in ids])
    assert refused == {}
    assert client.zcard(f"bull:{queue}:completed") == 2500
    assert not client.exists(f"bull:{queue}:active", f"bull:{queue}:1:lock", f"bull:{queue}:2500:lock")


def test_of_two_workers_that_claim_the_same_jobs_each_job_accepts_one(active, finish, queue, dump):
    ids = active(queue, 60)
    batches = [ids[n : n + 6] for n in range(0, 60, 6)] * 2
    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(lambda ids: finish(queue, *[(job, "null") for job in ids]), batches))
    assert sum(len(refused) for refused, _ in replies) == 60
    assert len(dump(queue)["completed"]) == 60
    assert all(dump(queue)[job]["atm"] == "1" for job in ids)


def test_keys_of_an_unexpected_type_stop_neither_their_job_nor_the_batch(add, fetch, finish, queue, client, dump):
    add(queue, "1", "2", "3", "4")
    fetch(queue, 4)
    client.delete(f"bull:{queue}:2")
    client.set(f"bull:{queue}:2", "not a job")
    client.hset(f"bull:{queue}:3", mapping={"parentKey": f"bull:{queue}:p", "parent": "{}", "deid": "d"})
    client.set(f"bull:{queue}:p:dependencies", "not a set")
    client.rpush(f"bull:{queue}:de:d", "not a string")
    refused, _ = finish(queue, ("1", "1"), ("2", "2"), ("3", "3"), ("4", "4"))
    assert refused == {1: -1}
    after = dump(queue)
    assert [job for job, _ in after["completed"]] == ["1", "3", "4"]
    assert after["active"] == ["2"]


@pytest.mark.parametrize("others", [10, 40, 2000])
def test_a_batch_finds_its_jobs_anywhere_in_active(active, finish, client, new_queue, dump, others):
    """At its old end, further ahead, or far apart in a long list."""
    batch, singles = new_queue(), new_queue()
    for queue in (batch, singles):
        active(queue, 40)
        client.lpush(f"bull:{queue}:active", *[f"other-{number}" for number in range(others)])
        client.lpush(f"bull:{queue}:active", "7", "8")
    results = [(str(n), "null") for n in (*range(1, 21), 40)]
    assert finish(batch, *results)[0] == {}
    for result in results:
        finish(singles, result)
    assert dump(batch) == dump(singles)


def test_an_id_given_twice_leaves_active_as_often_as_it_is_there(active, finish, client, new_queue, dump):
    batch, singles = new_queue(), new_queue()
    for queue in (batch, singles):
        active(queue, 40)
        client.lpush(f"bull:{queue}:active", "3")
    results = [(str(n), "null") for n in (*range(1, 21), 3, 3, 21)]
    refused, _ = finish(batch, *results, token="0")
    codes = [finish(singles, result, token="0")[0] for result in results]
    assert refused == {index: code[0] for index, code in enumerate(codes) if code} == {21: -3}
    assert dump(batch) == dump(singles)
