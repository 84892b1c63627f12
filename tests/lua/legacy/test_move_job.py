"""lua/legacy/move_job.lua: a job of Bull moves to a queue of BullMQ in the same slot."""

import pytest

SCRIPT = "legacy/move_job"
NOW = 1795225366409
HASH = {"name": "welcome", "data": '{"n": 1.0}', "opts": "{}", "timestamp": str(NOW), "attemptsMade": "1", "own": "x"}


@pytest.fixture
def other(new_queue):
    return new_queue("other")


@pytest.fixture
def put(client, queue):
    """Put a job into a list or set of Bull's queue."""

    def job(id, place="wait", score=NOW, **fields):
        key = f"bull:{queue}:{place}"
        client.hset(f"bull:{queue}:{id}", mapping={**HASH, **fields})
        if place in ("wait", "paused", "active"):
            client.lpush(key, id)
        elif place.endswith("set"):
            client.sadd(key, id)
        else:
            client.zadd(key, {id: score})

    return job


@pytest.fixture
def move(run_both, queue, other):
    def one(id, place="wait", to="wait", new_id=None, other_id="", score="", counted="", seen=None):
        seen = {"timestamp": str(NOW), "processedOn": ""} if seen is None else seen
        written = {"opts": '{"attempts":3}', "delay": "0", "priority": "0", "atm": "1"}
        numbers = [len(seen), 1, len(written)]
        fields = [part for pair in seen.items() for part in pair]
        pairs = [part for pair in written.items() for part in pair]
        args = [place, id, new_id or id, other_id, to, score, counted, *numbers, *fields, "attemptsMade", *pairs]
        return run_both(SCRIPT, queue, other, *args)

    return one


MOVED = {
    "name": "welcome",
    "data": '{"n": 1.0}',
    "opts": '{"attempts":3}',
    "timestamp": str(NOW),
    "own": "x",
    "delay": "0",
    "priority": "0",
    "atm": "1",
}


def test_a_waiting_job_waits_behind_the_others(put, move, dump, events, queue, other, client):
    for id in ("1", "2"):
        put(id)
        client.rpush(f"bull:{queue}:{id}:logs", "begun", "ended")
        client.zadd(f"bull:{queue}:priority", {id: 3})
    assert [move(id) for id in ("1", "2")] == [["1", 1], ["2", 1]]
    assert dump(queue) == {}
    state = dump(other)
    assert state.pop("events")
    assert state == {
        "1": MOVED,
        "2": MOVED,
        "1:logs": ["begun", "ended"],
        "2:logs": ["begun", "ended"],
        "id": "2",
        "marker": [("0", 0)],
        "meta": {"opts.maxLenEvents": "10000"},
        "wait": ["2", "1"],
    }
    assert events(other)[:2] == ["added 1 welcome", "waiting 1"]


def test_a_delayed_job_keeps_its_score(put, move, dump, events, queue, other):
    put("5", "delayed", NOW * 4096 + 5)
    assert move("5", "delayed", "delayed") == ["5", 1]
    state = dump(other)
    assert (state["delayed"], state["marker"]) == ([("5", NOW * 4096 + 5)], [("1", NOW + 5 / 4096)])
    assert events(other) == ["added 5 welcome", f"delayed 5 {NOW}"]
    assert dump(queue) == {}


def test_a_prioritized_job_comes_behind_those_of_its_priority(put, move, dump, other):
    put("1")
    put("2")
    for id in ("1", "2"):
        move(id, to="prioritized", score=3)
    state = dump(other)
    assert state["prioritized"] == [("1", 3 * 2**32 + 1), ("2", 3 * 2**32 + 2)]
    assert state["pc"] == "2"


@pytest.mark.parametrize("place", ["completed", "failed", "completed set"])
def test_a_finished_job_keeps_its_time_and_is_counted(put, move, dump, queue, other, client, place):
    state = place.split()[0]
    put("1", "set" if place.endswith("set") else place)
    if place.endswith("set"):
        client.rename(f"bull:{queue}:set", f"bull:{queue}:completed")
    assert move("1", state, state, score=NOW, counted="source completed") == ["1", 1]
    moved = dump(other)
    assert moved[state] == [("1", NOW)]
    assert moved["ext:migration"] == {"source completed": "1"}
    assert "events" not in moved
    assert dump(queue) == {}


def test_an_active_job_without_a_lock_runs_next(put, move, dump, queue, other, client):
    put("1")
    move("1")
    put("2", "active")
    client.set(f"bull:{queue}:2:lock", "token")
    assert move("2", "active", "front") == -3
    client.delete(f"bull:{queue}:2:lock")
    assert move("2", "active", "front") == ["2", 1]
    assert dump(other)["wait"] == ["1", "2"]


def test_a_paused_queue_gets_the_job_where_it_waits(put, move, dump, other, client):
    client.hset(f"bull:{other}:meta", "paused", "1")
    put("1", "paused")
    move("1", "paused")
    state = dump(other)
    assert state["paused"] == ["1"]
    assert "marker" not in state


def test_a_job_that_is_gone_is_left_alone(put, move, dump, queue, other):
    put("1", "active")
    before = dump(queue)
    assert move("1") == 0
    assert (dump(queue), dump(other)) == (before, {})


def test_a_job_that_has_run_meanwhile_is_read_again(put, move, dump, queue, other):
    put("1", processedOn="5")
    before = dump(queue)
    assert move("1") == -1
    assert (dump(queue), dump(other)) == (before, {})
    assert move("1", seen={"processedOn": "5"}) == ["1", 1]


def test_a_job_whose_id_is_taken_gets_the_other_one(put, move, dump, queue, other, client):
    client.hset(f"bull:{other}:1", "name", "theirs")
    put("1")
    assert move("1") == -2
    assert move("1", other_id="l-1") == ["l-1", 1]
    put("1")
    assert move("1", other_id="l-1") == -2
    assert dump(queue)["wait"] == ["1"]
    assert dump(other)["1"] == {"name": "theirs"}


def test_the_next_id_is_free(put, move, dump, other, client):
    client.set(f"bull:{other}:id", 4)
    for id in ("3", "9", "custom"):
        put(id)
        move(id)
    assert dump(other)["id"] == "9"


def test_an_id_without_a_job_is_removed(client, move, dump, queue, other):
    client.lpush(f"bull:{queue}:wait", "1")
    assert move("1") == -4
    assert (dump(queue), dump(other)) == ({}, {})


def test_a_key_of_another_type_is_no_job(client, move, dump, queue, other):
    client.lpush(f"bull:{queue}:wait", "1")
    client.set(f"bull:{queue}:1", "x")
    before = dump(queue)
    assert move("1") == -1
    assert (dump(queue), dump(other)) == (before, {})


def test_a_job_without_data_is_moved(put, move, client, dump, queue, other):
    put("1")
    client.hdel(f"bull:{queue}:1", "data")
    assert move("1") == ["1", 0]
    assert "data" not in dump(other)["1"]


def test_bull_may_add_a_job_with_the_same_debounce_id_again(put, move, client, dump, queue, other):
    put("1", deid="d")
    put("2", deid="e")
    client.set(f"bull:{queue}:de:d", "1")
    client.set(f"bull:{queue}:de:e", "2", px=100_000)
    move("1")
    move("2")
    assert dump(queue) == {"de:e": "2"}


@pytest.mark.parametrize("command", ["copy", "hset", "lpush", "lrem", "zadd", "set", "unlink", "hdel", "xadd"])
def test_whatever_redis_refuses_the_job_is_in_one_place(put, move, dump, queue, other, client, redis_url, command):
    put("1")
    put("2")
    client.rpush(f"bull:{queue}:1:logs", "begun")
    client.execute_command("ACL", "SETUSER", "refused", "on", ">refused", "~*", "&*", "+@all", f"-{command}")
    try:
        client.execute_command("AUTH", "refused", "refused")
        with pytest.raises(Exception, match=r"permissions to run|run this command"):
            move("1")
    finally:
        client.connection_pool.disconnect()
        client.execute_command("ACL", "DELUSER", "refused")
    before, after = dump(queue), dump(other)
    assert ("1" in before["wait"]) + ("1" in after.get("wait", [])) == 1
    assert "1" in before if "1" in before["wait"] else "1" in after
    if "1" in before["wait"]:
        assert move("1") == ["1", 1]
        after = dump(other)
    assert after["1"] == MOVED
