"""lua/legacy/add_1.lua: adding a job to a queue of Bull 1.x."""

import pytest
import redis

SCRIPT = "legacy/add_1"
NOW = 1795225366409


def test_a_job_waits_behind_the_others(run, queue, dump):
    assert run(SCRIPT, queue, '{"n":1}', "{}", NOW, 0, 0, 1, False) == ["1", 1]
    assert run(SCRIPT, queue, '{"n":2}', "{}", NOW, 0, 0, 1, False) == ["2", 1]
    assert run(SCRIPT, queue, '{"n":3}', "{}", NOW, 0, 0, 1, True) == ["3", 1]
    state = dump(queue)
    assert state["wait"] == ["2", "1", "3"]
    assert state["1"]["attempts"] == "1"


def test_a_delayed_job_has_a_score_of_its_time_and_id(run, queue, dump):
    run(SCRIPT, queue, "{}", "{}", NOW, 5000, NOW + 5000, 3, False)
    assert dump(queue)["delayed"] == [("1", (NOW + 5000) * 4096 + 1)]


def test_a_job_of_a_paused_queue_waits_apart(run, queue, dump, client):
    client.set(f"bull:{queue}:meta-paused", "1")
    run(SCRIPT, queue, "{}", "{}", NOW, 0, 0, 1, False)
    assert dump(queue)["paused"] == ["1"]


def test_a_job_whose_id_the_counter_reaches_is_not_overwritten(run, queue, dump, client):
    client.hset(f"bull:{queue}:1", "data", "old")
    assert run(SCRIPT, queue, "{}", "{}", NOW, 0, 0, 1, False) == ["2", 1]
    assert dump(queue)["1"] == {"data": "old"}


def test_nothing_is_added_where_its_place_is_of_another_type(run, queue, dump, client):
    client.set(f"bull:{queue}:wait", "x")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        run(SCRIPT, queue, "{}", "{}", NOW, 0, 0, 1, False)
    assert dump(queue) == {"id": "1", "wait": "x"}
