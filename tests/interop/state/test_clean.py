"""Cleaning a queue and removing children from parents: the state of BullMQ."""

import pytest

from .first_steps import start_in_bullmq

#: With a grace of 5 s at the end of `test_which_time_of_a_job_counts`: before it, and in it.
OLD, NEW = 0, 9_000
TYPES = ("completed", "failed", "wait", "waiting", "active", "paused", "prioritized", "delayed")


def fill(pair, *, apart=0):
    """Put three jobs into each state that can be cleaned, except paused, with this many ms between them."""

    def each():
        for n in range(3):
            yield n
            if apart:
                pair.tick(apart)

    for n in each():
        pair.foreign_complete(start_in_bullmq(pair), n, "t:0")
        pair.foreign_fail(start_in_bullmq(pair), "boom", "t:0")
    for n in each():
        start_in_bullmq(pair, token=f"t:{n}")
    for n in each():
        pair.add("waits", {"n": n})
        pair.add("first", {"n": n}, priority=5 - n)
        pair.add("later", {"n": n}, delay=540_000 - n * 60_000)


@pytest.mark.parametrize("type", TYPES)
def test_every_state_can_be_cleaned(any_pair, type):
    fill(any_pair)
    if type == "paused":
        any_pair.pause()
    any_pair.clean(0, 0, type)
    any_pair.clean(0, 0, type)


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_the_limit(pair, type, limit):
    fill(pair)
    pair.clean(0, limit, type)


@pytest.fixture(params=["pair", "manual_pair"])
def timed_pair(request, peer):
    """Our scripts, then the whole of bullrush, on a stopped clock."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("grace", [1, 1001, 2000, 7000])
def test_the_grace(timed_pair, type, grace):
    pair = timed_pair
    fill(pair, apart=1000)
    for n in range(3):
        pair.expire(f"{7 + n}:lock")
    if type == "paused":
        pair.pause()
    pair.clean(grace, 0, type)
    pair.clean(grace - 1000, 3, type)


def test_an_active_job_without_a_lock(any_pair):
    held, dropped = start_in_bullmq(any_pair, token="t:0"), start_in_bullmq(any_pair, token="t:1")
    any_pair.expire(f"{dropped}:lock")
    assert any_pair.clean(0, 0, "active") == [dropped]
    assert any_pair.state(held) == "active"


@pytest.mark.parametrize("type", ["delayed", "wait", "prioritized"])
def test_the_next_job_of_a_scheduler_stays(pair, type):
    opts = {"delayed": {}, "wait": {}, "prioritized": {"priority": 3}}[type]
    pair.foreign_upsert_scheduler("s", {"every": 60_000}, {"name": "tick", "opts": opts})
    if type == "delayed":
        pair.foreign_fetch("t:0")
    pair.add("mine", {}, **opts)
    pair.tick(120_000)
    pair.clean(0, 0, type)


@pytest.mark.parametrize("type", ["wait", "delayed"])
def test_ids_whose_hash_is_gone(any_pair, type):
    ids = [any_pair.add("n", {}, **({"delay": 60_000} if type == "delayed" else {})) for _ in range(3)]
    any_pair.command("DEL", "{P}" + ids[1])
    any_pair.clean(600_000, 0, type)


def test_deduplication_keys_and_logs_go_along(any_pair):
    id = any_pair.foreign_add("n", {}, deduplication={"id": "d", "ttl": 600_000})
    any_pair.add_log(id, "row")
    any_pair.clean(0, 0, "wait")


@pytest.mark.parametrize("parent", ["", "other"])
def test_a_parent_whose_last_child_is_cleaned_away(any_pair, parent):
    name = any_pair.name
    child = {"name": "c", "queueName": name(), "data": {}, "opts": {"jobId": "c", "removeOnFail": True}}
    any_pair.foreign_add_flow(
        {"name": "p", "queueName": name(parent), "data": {}, "opts": {"jobId": "p"}, "children": [child]}
    )
    any_pair.clean(0, 0, "wait")


def parent_with_children(pair, *, extra=()):
    """Add a parent in the queue and a child of each kind in another one."""

    def job(id, *children, **opts):
        queue = pair.name("child")
        return {"name": id, "queueName": queue, "data": {}, "opts": {"jobId": id, **opts}, "children": list(children)}

    children = [job("done"), job("ignored", ignoreDependencyOnFailure=True), job("held"), *extra, job("plain")]
    pair.foreign_add_flow({**job("p", *children), "queueName": pair.name()})
    for id, token in (("done", "t:0"), ("ignored", "t:1"), ("held", "t:2")):
        assert pair.foreign_fetch(token, queue="child") == id
    pair.foreign_complete("done", {"v": 1}, "t:0", queue="child")
    pair.foreign_fail("ignored", "no", "t:1", queue="child")
    return job


def test_what_a_job_knows_of_its_children(api_pair):
    parent_with_children(api_pair)
    api_pair.dependencies("p")


def test_pending_children_are_removed(any_pair):
    parent_with_children(any_pair)
    any_pair.remove_unprocessed_children("p")
    any_pair.foreign_complete("held", 1, "t:2", queue="child")


def test_pending_children_are_removed_with_all_below_them(any_pair):
    def job(id, *children):
        queue = any_pair.name("child")
        return {"name": id, "queueName": queue, "data": {}, "opts": {"jobId": id}, "children": list(children)}

    any_pair.foreign_add_flow({**job("p", job("a", job("b", job("c")))), "queueName": any_pair.name()})
    any_pair.remove_unprocessed_children("p")


@pytest.mark.parametrize("floors", [1, 2])
def test_hundreds_of_children_are_removed_from_among_other_jobs(any_pair, floors):
    def job(id, *children):
        return {"name": id, "queueName": any_pair.name(), "data": {}, "opts": {"jobId": id}, "children": list(children)}

    any_pair.add("before", {})
    any_pair.foreign_add_flow(job("p", *(job(f"a{n}", *(job(f"b{n}") for _ in range(floors - 1))) for n in range(100))))
    any_pair.add("between", {})
    any_pair.foreign_add_flow(job("q", *(job(f"c{n}") for n in range(100))))
    any_pair.add("after", {})
    any_pair.remove_unprocessed_children("p")
    any_pair.remove("q")


def test_a_failed_child_stays(any_pair):
    parent_with_children(any_pair)
    any_pair.foreign_fail("held", "boom", "t:2", queue="child")
    any_pair.remove_unprocessed_children("p")


def test_a_child_parts_from_its_parent(any_pair):
    parent_with_children(any_pair)
    assert any_pair.remove_child_dependency("plain", queue="child") is True
    assert any_pair.remove_child_dependency("held", queue="child") is True
    assert any_pair.remove_child_dependency("done", queue="child") is False


def test_a_child_whose_parent_is_gone_cannot_part_from_it(any_pair):
    parent_with_children(any_pair)
    any_pair.command("DEL", "{P}p")
    assert any_pair.remove_child_dependency("plain", queue="child").code == -5


def test_retry_of_an_ignored_child_makes_its_parent_wait_again(pair):
    """BullMQ's own retry stops half-way here; ours is compared with the intended state."""
    parent_with_children(pair)
    ours = pair.clients[1]
    side = pair.on("child").actual
    assert side.retry("ignored") is None
    base = f"bull:{pair.queue}"
    assert ours.hlen(f"{base}:p:failed") == 0
    assert ours.sismember(f"{base}:p:dependencies", f"{base}-child:ignored")
    assert ours.lrange(f"{base}-child:wait", 0, -1) == ["ignored", "plain"]


@pytest.mark.parametrize("type", ["wait", "active", "paused", "prioritized", "delayed"])
@pytest.mark.parametrize(
    "times",
    [
        {"timestamp": OLD, "processedOn": NEW},
        {"timestamp": OLD, "processedOn": NEW, "finishedOn": OLD},
        {"timestamp": NEW, "processedOn": OLD},
        {"timestamp": OLD, "processedOn": OLD, "finishedOn": NEW},
        {"timestamp": NEW, "finishedOn": OLD},
    ],
)
def test_which_time_of_a_job_counts(manual_pair, type, times):
    pair = manual_pair
    pair.add("n", {}, **{"prioritized": {"priority": 3}, "delayed": {"delay": 600_000}}.get(type, {}))
    if type == "active":
        pair.fetch("t:1")
        pair.expire("1:lock")
    if type == "paused":
        pair.pause()
    for name in ("timestamp", "processedOn", "finishedOn"):
        pair.command("HDEL", pair.key("1"), name)
    for name, time in times.items():
        pair.command("HSET", pair.key("1"), name, pair.now + time)
    pair.tick(10_000)
    pair.clean(5_000, 0, type)
