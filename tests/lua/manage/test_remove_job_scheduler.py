"""lua/manage/remove_job_scheduler.lua: a scheduler and its delayed job go."""

import pytest
import redis

SCRIPT = "manage/remove_job_scheduler"
AT = 1795225366409


@pytest.fixture
def scheduler(client, queue):
    """Scheduler "s" with its job, which is in no state yet."""
    prefix = f"bull:{queue}:"
    client.hset(f"{prefix}meta", "opts.maxLenEvents", 10_000)
    client.zadd(f"{prefix}repeat", {"s": AT, "t": AT})
    client.hset(f"{prefix}repeat:s", "name", "tick")
    client.hset(f"{prefix}repeat:s:{AT}", mapping={"name": "tick", "rjk": "s"})
    client.rpush(f"{prefix}repeat:s:{AT}:logs", "row")
    return f"repeat:s:{AT}"


def test_malformed_arguments_are_refused(run, queue):
    with pytest.raises(redis.ResponseError):
        run(SCRIPT, queue, "s")


def test_a_scheduler_that_does_not_exist(run, queue, dump):
    assert run(SCRIPT, queue, "nobody", "") == 0
    assert dump(queue) == {}


def test_the_delayed_job_is_removed_too(run, client, queue, scheduler, dump, events):
    client.zadd(f"bull:{queue}:delayed", {scheduler: AT * 4096})
    assert run(SCRIPT, queue, "s", "") == 1
    assert dump(queue).keys() == {"meta", "repeat", "events"}
    assert dump(queue)["repeat"] == [("t", AT)]
    assert events(queue) == [f"removed {scheduler} delayed"]


def test_a_job_that_is_already_in_wait_still_runs(run, client, queue, scheduler, dump):
    client.lpush(f"bull:{queue}:wait", scheduler)
    assert run(SCRIPT, queue, "s", "") == 1
    after = dump(queue)
    assert after["wait"] == [scheduler]
    assert after.keys() == {"meta", "repeat", "wait", scheduler, f"{scheduler}:logs"}


def test_the_oldest_form_has_other_job_ids(run, client, queue, scheduler, dump):
    client.zadd(f"bull:{queue}:delayed", {f"repeat:0af3:{AT}": AT * 4096, scheduler: AT * 4096})
    assert run(SCRIPT, queue, "s", "0af3") == 1
    assert "delayed" not in dump(queue)
