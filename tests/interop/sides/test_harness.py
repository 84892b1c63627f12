"""The comparison itself: it must find no difference between equal sides, and every fault made on purpose."""

import pytest

from tests.interop.random.sequences import Player, numbers, twin_pair

from .node_side import NodeSide
from .pair import StateDiffers


@pytest.fixture
def twins(make_pair, node):
    return make_pair(lambda db, prefix, queue: NodeSide(node, db, prefix, queue))


def work_through_most_operations(pair):
    pair.add("plain", {"a": 1})
    pair.add("late", {"b": [1, None]}, delay=60_000, attempts=2, backoff=1000)
    pair.add("first", "text", priority=3, removeOnComplete={"age": 10, "count": 5})
    pair.fetch("t:0", name="w1", lockDuration=30_000)
    pair.update_progress("1", {"pct": 5})
    pair.add_log("1", "row")
    pair.complete("1", {"ok": True}, "t:0", fetch_next=True)
    pair.fail("3", "boom", "t:0")
    pair.tick(60_000)
    pair.fetch("t:1")
    pair.fail("2", "again", "t:1")
    pair.retry("3")
    pair.pause()
    pair.resume()
    pair.counts("waiting", "delayed", "failed")


def test_two_real_bullmqs_leave_the_same_state(twins):
    work_through_most_operations(twins)


@pytest.mark.timeout(300)
def test_two_real_bullmqs_never_differ_in_random_sequences(node, redis_url, queue_name):
    player = Player(twin_pair(node, redis_url, queue_name))
    for number in numbers(seed=1, sequences=20):
        player.play(number)
    node.call("close", stem=queue_name)
    node.call("clock", now=None)


@pytest.mark.parametrize(
    ("command", "where"),
    [
        (("HSET", "{P}1", "ats", "7"), "1 › value › ats: expected '1', got '7'"),
        (("HDEL", "{P}1", "pb"), "1 › value › pb: missing"),
        (("SET", "{P}stray", "x"), "stray: unexpected"),
        (("ZADD", "{P}completed", "5", "1"), "completed › value › 1: expected 18"),
        (("LPUSH", "{P}wait", "9"), "wait"),
        (("XADD", "{P}events", "*", "event", "drained"), "events › value"),
        (("HSET", "{P}1", "opts", '{"attempts":1}'), "1 › value › opts › attempts: expected 0.0, got 1.0"),
        (("PEXPIRE", "{P}meta", "50000"), "meta › ttl: expected -1, got 50000"),
        (("SADD", "{P}id", "1"), "id › type"),
    ],
)
def test_a_fault_on_one_side_is_found_and_named(twins, databases, queue_name, command, where):
    work_through_most_operations(twins)
    args = [part.replace("{P}", f"bull:{queue_name}:") for part in command]
    if args[0] == "SADD":
        databases[1].delete(args[1])
    databases[1].execute_command(*args)
    with pytest.raises(StateDiffers) as raised:
        twins.counts()
    assert f"    {where}" in str(raised.value)


@pytest.mark.parametrize(("later_ms", "found"), [(0, False), (3000, False), (10_000, True), (-10_000, True)])
def test_a_time_to_live_may_be_about_to_reach_the_next_step(twins, databases, queue_name, later_ms, found):
    twins.add("plain", {})
    for client, ms in zip(databases, (20_001, 20_001 + later_ms), strict=True):
        client.pexpire(f"bull:{queue_name}:1", ms)
    if not found:
        twins.counts()
        return
    with pytest.raises(StateDiffers, match=r"1 › ttl: expected"):
        twins.counts()


def test_a_different_result_is_found(twins, databases, queue_name):
    twins.add("plain", {})
    databases[1].set(f"bull:{queue_name}:id", "41")
    with pytest.raises(StateDiffers, match=r"result: expected '2', got '42'"):
        twins.add("plain", {})


@pytest.mark.parametrize(("step", "accepted"), [("remove_unprocessed_children", True), ("promote", False)])
def test_only_steps_that_read_a_set_may_return_another_order(twins, databases, queue_name, step, accepted):
    twins.add("first")
    twins.add("second")
    databases[1].lmove(f"bull:{queue_name}:wait", f"bull:{queue_name}:wait", "LEFT", "RIGHT")
    if not accepted:
        with pytest.raises(StateDiffers, match="wait › value"):
            getattr(twins, step)("1")
        return
    getattr(twins, step)("1")
    assert twins.fetch("t:0") == "1"
