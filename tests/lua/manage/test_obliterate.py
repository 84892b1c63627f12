"""lua/manage/obliterate.lua: removing a queue."""

import re

import pytest
import redis

from bullrush._core import QUEUE_KEYS

SCRIPT = "manage/obliterate"
STATES = ("active", "delayed", "completed", "wait", "paused", "prioritized", "failed")


@pytest.fixture
def full(queue, client, store, pause):
    """A paused queue with one job in each state, a scheduler and all other keys."""
    base = f"bull:{queue}:"
    for state in (*STATES, "waiting-children"):
        store(f"in-{state}", state, 5, deid=f"d-{state}")
        client.rpush(f"{base}in-{state}:logs", "row")
        client.set(f"{base}de:d-{state}", f"in-{state}")
    client.set(f"{base}in-active:lock", "w:0")
    client.set(f"{base}de:foreign", "someone")
    client.zadd(f"{base}repeat", {"s": 20})
    client.hset(f"{base}repeat:s", "name", "n")
    for name in ("delay", "stalled-check", "id", "pc", "limiter", "ext:rver", "ext:routewd", "ext:hint"):
        client.set(f"{base}{name}", 1)
    for name in ("ext:routes", "ext:retired", "ext:rseen", "ext:workers"):
        client.hset(f"{base}{name}", "cap.gpu", 1)
    client.sadd(f"{base}stalled", "in-active")
    client.xadd(f"{base}events", {"event": "paused"})
    client.sadd(f"{base}ext:cron", "{}")
    client.set(f"{base}ext:cronwd", 1)
    client.hset(f"{base}ext:cancel", "in-active", "w:0 no")
    client.hset(f"{base}ext:routes", "cap.gpu", "{}")
    client.hset(f"{base}ext:workers", "w", "{}")
    client.rpush(f"{base}ext:named", "run-r1", "enq-b", "servers-b", "enq-expired")
    client.rpush(f"{base}ext:run-r1", "1")
    client.set(f"{base}ext:enq-b", 1)
    client.set(f"{base}ext:servers-b", "1/2 ab")
    for state in ("completed", "failed"):
        client.hset(f"{base}metrics:{state}", "count", 1)
        client.rpush(f"{base}metrics:{state}:data", 1)
    pause()
    return queue


LEFT = {"waiting-children", "in-waiting-children", "in-waiting-children:logs", "limiter", "de:foreign"}
LEFT |= {"de:d-waiting-children"}


def test_an_empty_paused_queue_loses_its_settings(run, queue, pause, dump):
    pause()
    assert run(SCRIPT, queue, 1000, False) == 0
    assert dump(queue) == {}


def test_everything_is_removed_except_waiting_children_and_other_queues(run, full, dump):
    assert run(SCRIPT, full, 1000, True) == 0
    assert set(dump(full)) == LEFT


def test_every_key_of_a_queue_is_removed_but_for_those_that_stay_on_purpose(run, queue, client, pause):
    pause()
    fill = {
        "string": lambda key: client.set(key, 1),
        "list": lambda key: client.rpush(key, "enq-x", "servers-x", "run-x"),
        "set": lambda key: client.sadd(key, "x"),
        "hash": lambda key: client.hset(key, "x", 1),
        "zset": lambda key: client.zadd(key, {"x": 1}),
        "stream": lambda key: client.xadd(key, {"x": 1}),
    }
    keys = [
        key for key in QUEUE_KEYS if key.end != "with the script" and not key.name.startswith(("meta", "de:", "dn:"))
    ]
    names = {key.name: re.sub("<.*>", "x", key.name) for key in keys}
    for key in keys:
        fill[key.kind.partition(",")[0]](f"bull:{queue}:{names[key.name]}")
    assert run(SCRIPT, queue, 1000, True) == 0
    left = {key.removeprefix(f"bull:{queue}:") for key in client.scan_iter(f"bull:{queue}:*")}
    assert left == {names[key.name] for key in keys if key.end in {"stays", "expires", "cleanup", "forgotten"}}
    migrating = {"ext:migration", "ext:mig", "ext:mirror", "ext:claim", "ext:moved"}
    shared = {"ext:limits", "ext:limit-x", "ext:grant-x"}
    assert left == {"limiter", "priority", "waiting-children", *migrating, *shared}


def test_routes_with_parents_that_wait_stay_registered_and_the_others_go(run, queue, client, pause, dump):
    pause()
    client.hset(f"bull:{queue}:ext:routes", mapping={"cap.a+b": "{}", "cap.c+d": "{}"})
    client.set(f"bull:{queue}:ext:rver", 7)
    client.zadd(f"bull:{queue}~cap.a+b:waiting-children", {"parent": 1})
    assert run(SCRIPT, queue, 1000, False) == 0
    assert dump(queue) == {"ext:routes": {"cap.a+b": "{}"}, "ext:rver": "8"}


def test_without_force_active_jobs_stop_it(run, full, client, dump):
    before = dump(full)
    assert run(SCRIPT, full, 1000, False) == -2
    assert dump(full) == before
    client.delete(f"bull:{full}:active")
    assert run(SCRIPT, full, 1000, False) == 0


@pytest.mark.parametrize("force", [True, False])
def test_a_queue_that_is_not_paused_stays(run, queue, store, dump, force):
    store("1", "wait")
    before = dump(queue)
    assert run(SCRIPT, queue, 1000, force) == -1
    assert dump(queue) == before


def test_each_call_removes_at_most_count_jobs_active_ones_first(run, full, client, dump):
    client.ltrim(f"bull:{full}:ext:named", 0, 0)
    client.delete(f"bull:{full}:ext:enq-b", f"bull:{full}:ext:servers-b")
    gone = ["active", "delayed", "repeat", "completed", "wait", "paused", "prioritized", "failed", "ext:run-r1"]
    for removed in range(1, len(gone) + 1):
        assert run(SCRIPT, full, 1, True) == 1
        state = dump(full)
        assert [name for name in gone if name in state] == gone[removed:]
        assert state["meta"]["paused"] == "1"
    assert run(SCRIPT, full, 1, True) == 0
    assert set(dump(full)) == LEFT


def test_thousands_of_jobs_are_removed_in_one_call(run, queue, client, pause, dump):
    pause()
    client.rpush(f"bull:{queue}:paused", *range(2_500))
    client.zadd(f"bull:{queue}:failed", {str(n): n for n in range(2_500, 5_000)})
    for n in range(5_000):
        client.hset(f"bull:{queue}:{n}", "name", "n")
    assert run(SCRIPT, queue, 4_000, False) == 1
    assert client.zcard(f"bull:{queue}:failed") == 1_000
    assert run(SCRIPT, queue, 4_000, False) == 0
    assert dump(queue) == {}


def test_a_malformed_count_changes_nothing(run, full, dump):
    before = dump(full)
    with pytest.raises(redis.ResponseError):
        run(SCRIPT, full, "all", True)
    assert dump(full) == before
