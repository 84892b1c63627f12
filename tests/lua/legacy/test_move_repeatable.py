"""lua/legacy/move_repeatable.lua: a repeatable of Bull becomes a job scheduler."""

import json

import pytest

SCRIPT = "legacy/move_repeatable"
NOW = 1795225366409
NEXT = NOW + 60_000
KEY = "mail::::0 * * * *"
OPTS = '{"repeat":{"cron":"0 * * * *","count":3}}'
PENDING = f"repeat:0123abcd:{NEXT}"


@pytest.fixture
def other(new_queue):
    return new_queue("other")


@pytest.fixture
def repeatable(client, queue):
    """Put a repeatable with its pending job."""

    def put(place="delayed", data='{"n":1}'):
        base = f"bull:{queue}:"
        client.zadd(f"{base}repeat", {KEY: NEXT})
        client.hset(base + PENDING, mapping={"name": "mail", "data": data, "opts": OPTS})
        if place == "delayed":
            client.zadd(f"{base}delayed", {PENDING: NEXT * 4096})
        else:
            client.lpush(base + place, PENDING)

    return put


@pytest.fixture
def move(run_both, queue, other):
    def one(place="delayed", pending=PENDING, now=NOW, seen=OPTS, next=NEXT):
        fields = ["name", "mail", "pattern", "0 * * * *", "ic", "3"]
        opts = '{"attempts":2,"repeat":{"pattern":"0 * * * *","count":3}}'
        args = [KEY, next, place, pending, seen, now, "legacy-x", "mail", opts, next, 0, "0", *fields]
        return run_both(SCRIPT, queue, other, *args)

    return one


@pytest.mark.parametrize("place", ["delayed", "wait", "active"])
def test_the_scheduler_has_the_next_time_and_the_job(repeatable, move, dump, queue, other, place):
    repeatable(place)
    assert move(place) == 1
    assert dump(queue) == {}
    state = dump(other)
    job_id = f"repeat:legacy-x:{NEXT}"
    assert state["repeat"] == [("legacy-x", NEXT)]
    assert state["repeat:legacy-x"] == {"name": "mail", "pattern": "0 * * * *", "ic": "3", "data": '{"n":1}'}
    assert state["delayed"] == [(job_id, NEXT * 4096)]
    job = state[job_id]
    assert (job["data"], job["delay"], job["rjk"]) == ('{"n":1}', "60000", "legacy-x")
    opts = json.loads(job["opts"])
    assert opts == {
        "attempts": 2,
        "repeat": {"pattern": "0 * * * *", "count": 3},
        "jobId": job_id,
        "delay": 60_000,
        "prevMillis": NEXT,
    }


def test_a_time_that_has_passed_runs_once_and_now(repeatable, move, dump, other):
    repeatable("wait")
    assert move("wait", now=NEXT + 5) == 1
    assert dump(other)["wait"] == [f"repeat:legacy-x:{NEXT}"]


def test_a_job_that_a_worker_runs_is_left_alone(repeatable, move, dump, queue, other, client):
    repeatable("active")
    client.set(f"bull:{queue}:{PENDING}:lock", "token")
    before = dump(queue)
    assert move("active") == 0
    assert (dump(queue), dump(other)) == (before, {})


def test_a_repeatable_without_a_job_becomes_a_scheduler_too(client, move, dump, queue, other):
    client.zadd(f"bull:{queue}:repeat", {KEY: NEXT})
    assert move(pending="", seen="") == 1
    assert dump(queue) == {}
    assert dump(other)[f"repeat:legacy-x:{NEXT}"]["data"] == "{}"


def test_what_has_changed_is_left_alone(repeatable, move, dump, queue, other, client):
    assert move() == 0
    repeatable()
    before = dump(queue)
    assert [move(next=NEXT + 1), move("wait"), move(seen="{}")] == [0, 0, 0]
    assert (dump(queue), dump(other)) == (before, {})


def test_a_repeatable_that_was_added_again_changes_the_template_only(repeatable, move, dump, queue, other):
    repeatable()
    move()
    before = dump(other)
    repeatable(data='{"n":2}')
    assert move() == 2
    assert dump(queue) == {}
    after = dump(other)
    assert after.pop("repeat:legacy-x")["data"] == '{"n":2}'
    before.pop("repeat:legacy-x")
    assert after == before


@pytest.mark.parametrize("command", ["hset", "zadd", "zrem", "xadd", "unlink", "incr"])
def test_whatever_redis_refuses_there_is_one_pending_job(repeatable, move, dump, queue, other, client, command):
    repeatable()
    client.execute_command("ACL", "SETUSER", "refused", "on", ">refused", "~*", "&*", "+@all", f"-{command}")
    try:
        client.execute_command("AUTH", "refused", "refused")
        with pytest.raises(Exception, match=r"permissions to run|run this command"):
            move()
    finally:
        client.connection_pool.disconnect()
        client.execute_command("ACL", "DELUSER", "refused")
    assert len(dump(queue).get("delayed", [])) + len(dump(other).get("delayed", [])) == 1
