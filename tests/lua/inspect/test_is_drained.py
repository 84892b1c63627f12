"""lua/inspect/is_drained.lua: is there anything left to do?"""

import pytest
import redis

SCRIPT = "inspect/is_drained"
NOW = 1795225366409


def test_a_queue_that_does_not_exist_is_drained(run, queue, dump):
    assert run(SCRIPT, queue, NOW, 0) == 1
    assert dump(queue) == {}


@pytest.mark.parametrize("list_name", ["wait", "paused", "active"])
def test_a_job_in_a_list_is_left_to_do(run, client, queue, list_name):
    client.lpush(f"bull:{queue}:{list_name}", "1")
    assert run(SCRIPT, queue, NOW, 0) == 0


def test_a_prioritized_job_is_left_to_do(run, client, queue):
    client.zadd(f"bull:{queue}:prioritized", {"1": 1})
    assert run(SCRIPT, queue, NOW, 0) == 0


@pytest.mark.parametrize("set_name", ["completed", "failed", "waiting-children"])
def test_finished_jobs_and_waiting_parents_do_not_count(run, client, queue, set_name):
    client.zadd(f"bull:{queue}:{set_name}", {"1": NOW})
    assert run(SCRIPT, queue, NOW, 60_000) == 1


@pytest.mark.parametrize(
    ("due", "horizon", "drained"), [(0, 0, 0), (1, 0, 1), (1000, 1000, 0), (1001, 1000, 1), (-9, 0, 0)]
)
def test_a_delayed_job_counts_up_to_the_horizon(run, client, queue, due, horizon, drained):
    client.zadd(f"bull:{queue}:delayed", {"1": (NOW + due) * 4096 + 4095})
    assert run(SCRIPT, queue, NOW, horizon) == drained


def test_an_old_wake_up_marker_is_not_a_job(run, client, queue):
    client.rpush(f"bull:{queue}:wait", "0:0")
    assert run(SCRIPT, queue, NOW, 0) == 1


def test_a_malformed_time_is_an_error(run, queue):
    with pytest.raises(redis.ResponseError):
        run(SCRIPT, queue, "now", 0)
