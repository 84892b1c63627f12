"""lua/route/move_job.lua: a job that no worker takes moves from its route to another queue in the same slot."""

import contextlib
import json

import pytest
import redis

from tests.lua.conftest import NOW
from tests.lua.source import flatten

SCRIPT = "route/move_job"


@pytest.fixture
def base(new_queue):
    return new_queue("base")


@pytest.fixture
def move(run_both, queue, base):
    def one(job_id, place="wait", seen=""):
        return run_both(SCRIPT, queue, base, place, job_id, seen)

    return one


@pytest.mark.parametrize("args", [["wait"], ["wait", "1"], ["active", "1", ""], ["delayed", "1", ""]])
def test_malformed_arguments_are_refused(run_both, add, queue, base, dump, args):
    add(queue, "a")
    before = dump(queue)
    with pytest.raises(redis.ResponseError, match="move_job"):
        run_both(SCRIPT, queue, base, *args)
    with pytest.raises(redis.ResponseError, match="move_job"):
        run_both(SCRIPT, queue, queue, "wait", "1", "")
    assert dump(queue) == before


def test_waiting_jobs_wait_behind_the_others_with_all_that_they_have(add, move, client, queue, base, dump, events):
    add(base, "first", ids=["there"])
    add(queue, "a", "b", ids=["x", "y"])
    client.rpush(f"bull:{queue}:x:logs", "begun", "ended")
    client.hset(f"bull:{queue}:x:processed", "child", "1")
    client.delete(f"bull:{base}:marker")
    before = dump(queue)
    assert [move("x"), move("y")] == ["x", "y"]
    state = dump(base)
    assert state["wait"] == ["y", "x", "there"]
    assert {name: state[name] for name in ("x", "y", "x:logs", "x:processed")} == {
        name: before[name] for name in ("x", "y", "x:logs", "x:processed")
    }
    assert state["marker"] == [("0", 0)]
    assert events(base)[-4:] == ["added x n", "waiting x", "added y n", "waiting y"]
    assert events(queue)[-2:] == ["removed x wait", "removed y wait"]
    assert dump(queue).keys() == {"events", "id", "marker", "meta"}


def test_prioritized_jobs_keep_their_priority(add, move, queue, base, dump):
    add(base, "a", priority=3)
    add(queue, "a", "b", ids=["x", "y"], priority=3)
    assert [move("x", "prioritized"), move("y", "prioritized")] == ["x", "y"]
    assert dump(base)["prioritized"] == [("1", 3 * 2**32 + 1), ("x", 3 * 2**32 + 2), ("y", 3 * 2**32 + 3)]
    assert dump(base)["pc"] == "3"
    assert "prioritized" not in dump(queue)


def test_jobs_of_a_paused_route_enter_a_paused_queue(add, move, client, queue, base, dump):
    for name in (queue, base):
        client.hset(f"bull:{name}:meta", "paused", 1)
    add(queue, "a")
    assert move("1", "paused") == "1"
    assert dump(base)["paused"] == ["1"]
    assert "marker" not in dump(base)


def test_a_job_whose_id_is_taken_gets_the_next_free_number(add, move, client, queue, base, dump):
    add(base, "theirs", "theirs")
    client.hset(f"bull:{base}:3", "name", "no counted one")
    add(queue, "mine")
    assert move("1") == "4"
    state = dump(base)
    assert (state["1"]["data"], state["4"]["data"], state["id"]) == ("theirs", "mine", "4")


def test_the_next_id_of_the_other_queue_is_free(add, move, queue, base, dump):
    add(queue, *"abc")
    assert [move("3"), move("1")] == ["3", "1"]
    assert dump(base)["id"] == "3"
    assert add(base, "d") == 4


def test_a_job_that_is_gone_has_run_or_is_no_job_stays(add, fetch, move, client, queue, base, dump):
    add(queue, "a", "b", "c")
    fetch(queue)
    client.hset(f"bull:{queue}:2", "processedOn", 5)
    client.lpush(f"bull:{queue}:wait", "gone", "odd")
    client.set(f"bull:{queue}:odd", "text")
    before = dump(queue)
    assert [move(job_id) for job_id in ("1", "2", "gone", "odd")] == [0, -1, -1, -1]
    assert move("3", "prioritized") == 0
    assert (dump(queue), dump(base)) == (before, {})
    assert move("2", seen="5") == "2"


def test_the_deduplication_id_is_free_again(add, move, client, queue, base, dump):
    add(queue, "a", "b")
    for job_id in ("1", "2"):
        client.hset(f"bull:{queue}:{job_id}", "deid", job_id)
        client.set(f"bull:{queue}:de:{job_id}", job_id, px=None if job_id == "1" else 60_000)
        move(job_id)
    assert {name for name in dump(queue) if name.startswith("de:")} == {"de:2"}


@pytest.fixture
def family(add, client, queue, new_queue):
    """A parent in a queue of its own that waits for the job 1 of the route; returns the parent's queue."""

    def make():
        parents = new_queue("parents")
        add(queue, "child")
        key = f"bull:{parents}:p"
        link = {"id": "p", "queueKey": f"bull:{parents}"}
        client.hset(f"bull:{queue}:1", mapping={"parentKey": key, "parent": json.dumps(link)})
        client.hset(f"bull:{parents}:meta", "version", "bullmq:5.62.0")
        client.hset(key, mapping={"name": "n", "data": "{}", "opts": "{}", "timestamp": NOW, "priority": 0})
        client.zadd(f"bull:{parents}:waiting-children", {"p": NOW})
        client.sadd(f"{key}:dependencies", f"bull:{queue}:1")
        return parents

    return make


def test_a_parent_waits_for_the_moved_job(family, move, fetch, finish, client, base, dump):
    parents = family()
    assert move("1") == "1"
    assert client.smembers(f"bull:{parents}:p:dependencies") == {f"bull:{base}:1"}
    assert list(fetch(base).jobs) == ["1"]
    assert finish(base, ("1", "5"))[0] == {}
    assert dump(parents)["wait"] == ["p"]
    assert dump(parents)["p:processed"] == {f"bull:{base}:1": "5"}


def test_a_parent_that_does_not_wait_or_cannot_be_read_stays_as_it_is(family, move, client, queue, base):
    parents = family()
    client.delete(f"bull:{parents}:p:dependencies")
    client.set(f"bull:{parents}:p:dependencies", "text")
    assert move("1") == "1"
    assert client.get(f"bull:{parents}:p:dependencies") == "text"


@pytest.mark.parametrize("place", ["wait", "prioritized"])
@pytest.mark.parametrize("command", ["copy", "lpush", "zadd", "lrem", "zrem", "sadd", "srem", "set", "unlink", "xadd"])
def test_whatever_redis_refuses_the_job_is_in_one_place_and_its_parent_knows_where(
    family, move, client, queue, base, dump, redis_url, place, command
):
    parents = family()
    if place == "prioritized":
        client.delete(f"bull:{queue}:wait")
        client.zadd(f"bull:{queue}:prioritized", {"1": 3 * 2**32 + 1})
        client.hset(f"bull:{queue}:1", "priority", 3)
    before, sha = dump(queue), client.script_load(flatten(SCRIPT))
    user = f"refused-{queue}"
    client.execute_command("ACL", "SETUSER", user, "on", ">refused", "~*", "&*", "+@all", f"-{command}")
    url = redis_url.replace("redis://", f"redis://{user}:refused@")
    with redis.Redis.from_url(url, decode_responses=True) as refused, contextlib.suppress(redis.ResponseError):
        refused.evalsha(sha, 2, f"bull:{queue}:meta", f"bull:{base}:meta", place, "1", "")
    client.execute_command("ACL", "DELUSER", user)
    left, arrived = dump(queue), dump(base)
    stayed = place in left
    assert stayed != (place in arrived)
    assert client.smembers(f"bull:{parents}:p:dependencies") == {f"bull:{queue if stayed else base}:1"}
    assert "1" in (left if stayed else arrived)
    if stayed:
        assert left == before
        assert "1" not in arrived
        assert move("1", place) == "1"
        assert dump(base)[place]
