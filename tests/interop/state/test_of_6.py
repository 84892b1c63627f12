"""On a queue of BullMQ 6, bullrush leaves the state that BullMQ 6 leaves, where that is not the state of 5.62.0.

What differs is in the table "On a queue of BullMQ 6" of docs/interop.md, a line for each group of tests here.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bullrush import Queue
from bullrush._core import stop_clock
from bullrush.errors import InvalidOptionError
from tests.interop.conftest import NodeFleet, server_of
from tests.interop.sides.manual_side import ManualSide
from tests.interop.sides.node_side import NodeSide
from tests.interop.sides.pair import EPOCH, Pair, Sides, StateDiffers
from tests.interop.sides.script_side import ScriptSide
from tests.interop.sides.timeless import without_parked, without_traces

HOUR = 3_600_000


@pytest.fixture(params=["scripts", "api"])
def pair(
    request: pytest.FixtureRequest,
    node_fleet: NodeFleet,
    databases: tuple[Any, Any],
    redis_url: str,
    queue_name: str,
    script_side: Callable[[int, str, str], ScriptSide],
) -> Iterator[Pair]:
    """Real BullMQ 6 beside our scripts, then beside the whole of bullrush; both on a stopped clock."""
    node = node_fleet.get("bullmq6")

    def open_queue(prefix: str, queue: str) -> Sides:
        expected, foreign = (NodeSide(node, db, prefix, queue, words=request.param == "api") for db in (0, 1))
        foreign.prepare()  # as its `Queue` says, this is a queue of 6
        if request.param == "scripts":
            return Sides(expected, _unprepared(script_side(1, prefix, queue)), foreign)
        return Sides(expected, ManualSide(f"{server_of(redis_url)}/1", queue, prefix), foreign)

    yield Pair(open_queue, databases, queue_name, view=without_traces)
    node.call("close", stem=queue_name)
    node.call("clock", now=None)
    stop_clock(None)


def _unprepared(side: ScriptSide) -> ScriptSide:
    side.prepare = lambda: None  # type: ignore[method-assign]  # it says that this is a queue of 5.62.0
    return side


def start(pair: Pair, queue: str = "", **opts: Any) -> str:
    """Add a job, let it start, and return its id."""
    id: str = pair.add("work", {}, queue=queue, **opts)
    assert pair.fetch("t:0", queue=queue) == id
    return id


def failed(pair: Pair, queue: str = "", **opts: Any) -> str:
    """Return the id of a job that has failed for good."""
    id = start(pair, queue, **opts)
    pair.fail(id, "broken", "t:0", queue=queue)
    return id


# pausing


def test_a_paused_queue_keeps_its_jobs_where_they_wait(pair: Pair) -> None:
    ids = [pair.add("work", {}), pair.add("work", {}, priority=2), pair.add("work", {}, delay=HOUR)]
    pair.pause()
    assert pair.seen["wait"]["value"] == ids[:1]
    pair.result_view = without_parked
    pair.counts("waiting", "prioritized", "delayed")
    pair.ranges(["wait", "prioritized"])
    pair.state(ids[0])
    assert pair.fetch("t:0") is None
    pair.pause()
    pair.resume()
    pair.fetch("t:0")


def test_jobs_that_become_ready_in_a_paused_queue_wait_with_the_others(pair: Pair) -> None:
    retried, active = failed(pair), start(pair)
    delayed = [pair.add("work", {}, delay=HOUR) for _ in range(2)]
    pair.pause()
    pair.add("work", {})
    pair.add("work", {}, lifo=True)
    pair.add_bulk([{"name": "work", "data": 1}, {"name": "work", "data": 2}])
    pair.promote(delayed[0])
    pair.promote_jobs()
    pair.retry(retried)
    pair.move_to_wait(active, "t:0")
    assert "paused" not in pair.seen
    pair.resume()
    pair.fetch("t:0")


def test_a_job_that_fails_or_stalls_while_its_queue_is_paused_waits_with_the_others(pair: Pair) -> None:
    again, lost = start(pair, attempts=3), start(pair)
    pair.stalled()
    pair.pause()
    pair.fail(again, "broken", "t:0")
    pair.expire(f"{lost}:lock")
    pair.expire("stalled-check")
    pair.stalled()
    assert "paused" not in pair.seen
    pair.resume()


def test_a_paused_queue_is_drained_and_cleaned(pair: Pair) -> None:
    for _ in range(3):
        pair.add("work", {})
    pair.add("work", {}, priority=1)
    pair.pause()
    pair.tick(1000)
    pair.clean(0, 2, "wait")
    pair.drain()
    pair.resume()


def test_a_paused_queue_is_obliterated(pair: Pair) -> None:
    start(pair)
    pair.add("work", {})
    pair.pause()
    pair.obliterate(force=True)


def test_a_prioritized_job_changes_its_place_in_a_paused_queue(pair: Pair) -> None:
    plain, ranked = pair.add("work", {}), pair.add("work", {}, priority=3)
    pair.pause()
    pair.change_priority(plain, 2)
    pair.change_priority(ranked, 0)
    pair.remove(plain)
    pair.resume()


def test_a_parent_whose_children_end_while_its_queue_is_paused_waits_with_the_others(pair: Pair) -> None:
    pair.add_flow(
        {
            "name": "parent",
            "queueName": "@",
            "opts": {"jobId": "p"},
            "children": [{"name": "child", "queueName": "@child", "opts": {"jobId": "c"}}],
        }
    )
    pair.pause()
    assert pair.fetch("t:0", queue="child") == "c"
    pair.complete("c", 1, "t:0", queue="child")
    assert pair.seen["wait"]["value"] == ["p"]


@pytest.mark.parametrize("pausing", ["pause", "foreign_pause"])
@pytest.mark.parametrize("resuming", ["resume", "foreign_resume"])
def test_jobs_that_a_client_of_5_has_parked_run_after_those_that_wait(pair: Pair, pausing: str, resuming: str) -> None:
    pair.add("work", {})
    getattr(pair, pausing)()
    pair.add("work", {})
    for number in (8, 9):
        pair.command("HSET", f"{{P}}{number}", "name", "of 5", "data", "{}", "opts", "{}", "timestamp", "1")
        pair.command("LPUSH", "{P}paused", str(number))
    pair.counts("paused")
    getattr(pair, resuming)()
    assert pair.seen["wait"]["value"] == ["2", "1", "9", "8"]


@pytest.mark.parametrize("rate_limited", [False, True])
def test_a_queue_that_was_not_paused_is_resumed(pair: Pair, rate_limited: bool) -> None:
    """Its jobs wake a worker whether it was paused or not."""
    for delay in (0, HOUR):
        pair.add("work", {}, delay=delay)
    pair.command("DEL", "{P}marker")
    if rate_limited:
        pair.rate_limit(20_000)
    pair.resume()
    assert pair.seen["marker"]["value"] == {"0": 0}


def test_a_queue_that_was_obliterated_is_one_of_6_again_when_somebody_opens_it(pair: Pair) -> None:
    pair.add("work", {})
    pair.obliterate(force=True)
    assert "meta" not in pair.seen
    pair.foreign_reopen()
    pair.add("work", {})
    pair.pause()
    pair.drain()
    pair.resume()


def test_jobs_of_several_states_are_listed_from_the_next_one_on(pair: Pair) -> None:
    for _ in range(4):
        pair.add("work", {})
    for _ in range(2):
        pair.fetch("t:0")
    pair.pause()
    pair.ranges(["wait", "active", "paused"], 0, 2, True)


def test_bullmq_6_lists_active_jobs_that_follow_paused_ones_in_the_wrong_order(pair: Pair) -> None:
    for _ in range(4):
        pair.add("work", {})
    for _ in range(2):
        pair.fetch("t:0")
    with pytest.raises(
        StateDiffers, match=r"result\[2\]: expected '2', got '1'\n.*result\[3\]: expected '1', got '2'$"
    ):
        pair.ranges(["wait", "paused", "active"], 0, 2, True)


# retrying


@pytest.mark.parametrize("lifo", [False, True])
@pytest.mark.parametrize("paused", [False, True])
def test_a_job_that_is_retried_keeps_its_priority(pair: Pair, lifo: bool, paused: bool) -> None:
    id = failed(pair, priority=3, lifo=lifo)
    pair.add("work", {}, priority=3)
    if paused:
        pair.pause()
    pair.retry(id)
    assert pair.seen["pc"]["value"] == "3"


def test_a_completed_job_that_runs_again_keeps_its_priority(pair: Pair) -> None:
    id = start(pair, priority=3)
    pair.complete(id, 1, "t:0")
    pair.retry(id, "completed")


def test_jobs_that_are_retried_together_lose_their_priority(pair: Pair) -> None:
    failed(pair, priority=3)
    pair.retry_jobs()


POLICIES = (
    "failParentOnFailure",
    "continueParentOnFailure",
    "ignoreDependencyOnFailure",
    "removeDependencyOnFailure",
)


@pytest.mark.parametrize("policy", [None, *POLICIES])
@pytest.mark.parametrize("how", ["retry", "retry_jobs"])
def test_a_parent_depends_again_on_a_child_that_is_retried(pair: Pair, policy: str | None, how: str) -> None:
    opts = {"jobId": "c", **({policy: True} if policy else {})}
    child = {"name": "child", "queueName": "@child", "opts": opts}
    other = {"name": "other", "queueName": "@child", "opts": {"jobId": "d"}}
    pair.add_flow({"name": "parent", "queueName": "@", "opts": {"jobId": "p"}, "children": [child, other]})
    assert pair.fetch("t:0", queue="child") == "c"
    pair.fail("c", "broken", "t:0", queue="child")
    if how == "retry":
        pair.retry("c", queue="child")
    else:
        pair.retry_jobs(queue="child")
    for id in ("d", "c"):
        assert pair.fetch("t:1", queue="child") == id
        pair.complete(id, 1, "t:1", queue="child")


@pytest.mark.parametrize("how", ["retry", "retry_jobs"])
def test_a_parent_depends_again_on_a_completed_child_that_runs_again(pair: Pair, how: str) -> None:
    children = [{"name": "child", "queueName": "@child", "opts": {"jobId": id}} for id in ("c", "d")]
    pair.add_flow({"name": "parent", "queueName": "@", "opts": {"jobId": "p"}, "children": children})
    assert pair.fetch("t:0", queue="child") == "c"
    pair.complete("c", 1, "t:0", queue="child")
    if how == "retry":
        pair.retry("c", "completed", queue="child")
    else:
        pair.retry_jobs("completed", queue="child")
    assert pair.seen["p:dependencies"]["value"] == [pair.base("child") + id for id in ("c", "d")]


# parents


@pytest.mark.parametrize("state", ["waiting", "completed", "failed"])
@pytest.mark.parametrize("how", ["add", "add_flow"])
def test_a_child_whose_parent_is_gone_gets_a_new_one(pair: Pair, state: str, how: str) -> None:
    pair.on("child")  # a queue of its own, of 6 as well
    child = {"name": "child", "queueName": "@child", "opts": {"jobId": "c"}}
    pair.add_flow({"name": "parent", "queueName": "@", "opts": {"jobId": "old"}, "children": [child]})
    if state != "waiting":
        pair.fetch("t:0", queue="child")
        end = pair.fail if state == "failed" else pair.complete
        end("c", "the end", "t:0", queue="child")
    pair.remove("old", False)
    if how == "add_flow":
        pair.add_flow({"name": "parent", "queueName": "@", "opts": {"jobId": "new"}, "children": [child]})
    else:
        pair.add("work", {}, jobId="new")
        pair.add("child", {}, queue="child", jobId="c", parent={"id": "new", "queue": "@"})
    assert pair.seen["-child:c"]["value"]["parentKey"] == pair.base() + "new"


def test_a_job_that_fails_with_its_child_does_not_count_for_the_rate_limit(pair: Pair) -> None:
    limited = {"limiter": {"max": 2, "duration": 10_000}}
    for _ in range(5):
        pair.add("work", {})
    for id in ("1", "3"):
        pair.command("HSET", f"{{P}}{id}", "defa", "child bull:q:1 failed")
    for number in range(5):
        pair.fetch(f"t:{number}", **limited)
    assert pair.seen["active"]["value"] == ["4", "3", "2", "1"]


# deduplication

RULES: dict[str, dict[str, Any]] = {
    "simple": {},
    "throttle": {"ttl": 60_000},
    "extended": {"ttl": 60_000, "extend": True},
    "replace": {"replace": True},
    "replace, throttle": {"ttl": 60_000, "replace": True},
    "keep the last one": {"keepLastIfActive": True},
    "reschedule": {"reschedule": True},
    "reschedule, throttle": {"ttl": 60_000, "reschedule": True},
    "reschedule, extended": {"ttl": 60_000, "extend": True, "reschedule": True},
    "reschedule or replace": {"replace": True, "reschedule": True},
    "reschedule or keep the last one": {"keepLastIfActive": True, "reschedule": True},
}


@pytest.fixture(params=list(RULES))
def rule(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"id": "d", **RULES[request.param]}


@pytest.mark.parametrize("delay", [0, 5000])
def test_a_job_of_the_same_deduplication_id(pair: Pair, rule: dict[str, Any], delay: int) -> None:
    pair.add("first", {}, deduplication=rule, delay=delay, priority=1)
    pair.add("another", {}, delay=7000)
    pair.tick(1000)
    pair.add("second", {}, deduplication=rule, delay=delay + 4000, priority=2)
    pair.add("third", {}, deduplication=rule, delay=0, jobId="own")
    pair.deduplication_job_id("d")


def test_a_job_of_the_same_deduplication_id_while_the_first_one_runs(pair: Pair, rule: dict[str, Any]) -> None:
    id = start(pair, deduplication=rule)
    pair.add("second", {}, deduplication=rule, delay=1000)
    pair.complete(id, 1, "t:0")
    pair.add("third", {}, deduplication=rule)


@pytest.mark.parametrize("delay", [0, 5000])
@pytest.mark.parametrize("lives", [False, True])
def test_a_deduplication_key_whose_job_is_gone(pair: Pair, rule: dict[str, Any], delay: int, lives: bool) -> None:
    """It is taken over, unless it has a time to live."""
    pair.add("first", {}, deduplication=rule, delay=delay)
    pair.command("DEL", "{P}1")
    pair.command(*(("PEXPIRE", "{P}de:d", 60_000) if lives else ("PERSIST", "{P}de:d")))
    pair.add("second", {}, deduplication=rule, delay=delay)
    pair.add("third", {}, deduplication=rule)


# schedulers

EVERY, OTHER_EVERY = {"every": 10_000}, {"every": 7_000}
CRON, OTHER_CRON = ({"pattern": f"*/{n} * * * * *", "tz": "Europe/Madrid"} for n in (5, 7))


@pytest.mark.parametrize("priority", [0, 2])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (EVERY, EVERY),
        (EVERY, OTHER_EVERY),
        (EVERY, {**EVERY, "limit": 5}),
        (EVERY, {**OTHER_EVERY, "startDate": EPOCH + 25_000}),
        (EVERY, {**EVERY, "startDate": EPOCH + 25_000}),
        (EVERY, CRON),
        (CRON, EVERY),
        (CRON, CRON),
        (CRON, OTHER_CRON),
        (CRON, {**CRON, "immediately": True}),
        (CRON, {**CRON, "startDate": EPOCH + 25_000}),
    ],
)
def test_a_scheduler_with_another_rule_starts_anew(
    pair: Pair, before: dict[str, Any], after: dict[str, Any], priority: int
) -> None:
    template = {"name": "made", "opts": {"deduplication": {"id": "d"}, **({"priority": priority} if priority else {})}}
    pair.upsert_scheduler("s", before, template)
    pair.tick(3000)
    pair.upsert_scheduler("s", after, template)
    pair.upsert_scheduler("s", before, template)
    pair.tick(2001)
    pair.fetch("t:0")


@pytest.mark.parametrize(("before", "after"), [(EVERY, EVERY), (EVERY, OTHER_EVERY), (CRON, OTHER_CRON), (EVERY, CRON)])
def test_a_scheduler_whose_job_runs_starts_anew(pair: Pair, before: dict[str, Any], after: dict[str, Any]) -> None:
    pair.upsert_scheduler("s", before, {"name": "made", "data": {}})
    pair.tick(5000)
    id = pair.fetch("t:0")
    pair.update_data(id, {"changed": True})
    pair.tick(1000)
    pair.upsert_scheduler("s", after, {"name": "made", "data": {"n": 1}})
    pair.complete(id, 1, "t:0")
    pair.tick(20_000)
    pair.fetch("t:1")


@pytest.mark.parametrize("start", [0, 3000, 9_999])
@pytest.mark.parametrize("late", [9_999, 10_000, 10_001, 12_999, 13_000, 13_001, 34_567])
def test_an_interval_that_missed_some_times_goes_on_at_the_next_one_of_its_grid(
    pair: Pair, start: int, late: int
) -> None:
    pair.upsert_scheduler("s", {**EVERY, "startDate": EPOCH + start}, {})
    pair.tick(start + late)
    pair.fetch("t:0")
    pair.tick(20_000)
    pair.fetch("t:1")


def test_a_scheduler_takes_the_first_free_slot_of_33(pair: Pair) -> None:
    pair.upsert_scheduler("s", EVERY, {})
    pair.fetch("t:0")
    pair.remove_scheduler("s")
    for n in range(1, 31):
        pair.command("HSET", f"{{P}}repeat:s:{EPOCH + n * 10_000}", "name", "taken")
    for n in (31, 32):
        pair.upsert_scheduler("s", EVERY, {})
        pair.remove_scheduler("s")
        pair.command("HSET", f"{{P}}repeat:s:{EPOCH + n * 10_000}", "name", "taken")
    assert pair.upsert_scheduler("s", EVERY, {}).code == -11


def test_jobs_of_a_scheduler_do_not_name_their_next_one(pair: Pair) -> None:
    pair.upsert_scheduler("s", EVERY, {})
    pair.update_data(f"repeat:s:{EPOCH}", {"n": 1})
    id = pair.fetch("t:0")
    assert "nrjid" not in pair.seen[id]["value"]
    assert "data" not in pair.seen["repeat:s"]["value"]


@pytest.mark.parametrize("removed", [False, True])
def test_a_job_of_a_scheduler_that_is_gone_may_stall_as_often_as_others(pair: Pair, removed: bool) -> None:
    pair.upsert_scheduler("s", EVERY, {})
    id = pair.fetch("t:0")
    pair.stalled(maxStalledCount=0)
    if removed:
        pair.remove_scheduler("s")
    pair.expire(f"{id}:lock")
    pair.expire("stalled-check")
    pair.stalled(maxStalledCount=0)
    assert ("defa" in pair.seen[id]["value"]) == removed


# where BullMQ 6 loses or doubles a job, bullrush does not follow it


def test_bullmq_6_doubles_the_job_of_a_scheduler_with_another_rule_in_a_paused_queue(pair: Pair) -> None:
    pair.upsert_scheduler("s", EVERY, {})
    pair.pause()
    pair.tick(1000)
    with pytest.raises(StateDiffers):
        pair.upsert_scheduler("s", OTHER_EVERY, {})
    theirs, ours = (client.lrange(pair.base() + "wait", 0, -1) for client in pair.clients)
    assert (len(theirs), ours) == (2, [f"repeat:s:{EPOCH + 1000}"])


def test_bullmq_6_writes_the_job_of_a_scheduler_over_a_finished_one(pair: Pair) -> None:
    pair.upsert_scheduler("s", CRON, {})
    pair.tick(5000)
    id = pair.fetch("t:0")
    pair.complete(id, 1, "t:0")
    with pytest.raises(StateDiffers):
        pair.upsert_scheduler("s", {**OTHER_CRON, "immediately": True}, {})
    places = [
        [name for name in ("wait", "completed") if id in _members(client, pair.base() + name)]
        for client in pair.clients
    ]
    assert places == [["wait", "completed"], ["completed"]]


def _members(client: Any, key: str) -> Any:
    return client.lrange(key, 0, -1) if key.endswith("wait") else client.zrange(key, 0, -1)


def test_bullmq_6_sets_no_marker_for_a_job_that_fails_and_is_due_later_when_it_fetches_the_next_one(pair: Pair) -> None:
    """An idle worker then sleeps beyond its time."""
    id = start(pair, attempts=2, backoff=5000)
    pair.add("work", {})
    with pytest.raises(StateDiffers):
        pair.fail(id, "broken", "t:0", fetch_next=True)
    theirs, ours = (client.zscore(pair.base() + "marker", "1") for client in pair.clients)
    assert (theirs, ours) == (None, EPOCH + 5000)


def test_a_program_of_6_that_only_looks_makes_nobody_lose_what_5_has_paused(
    node_fleet: NodeFleet, databases: tuple[Any, Any], redis_url: str, queue_name: str
) -> None:
    """Real BullMQ 6 adds to `wait`, over which BullMQ 5 then writes its list `paused`."""
    client, base = databases[0], f"bull:{queue_name}:"
    of_5, of_6 = (NodeSide(node_fleet.get(library), 0, "bull", queue_name) for library in ("bullmq5", "bullmq6"))
    of_5.add("work", {})
    of_5.pause()
    of_6.counts()
    client.hset(base + "meta", "version", "bullmq:6.7.0")
    with Queue(queue_name, url=f"{server_of(redis_url)}/0") as queue:
        queue.add("work", {})
    assert sorted(client.lrange(base + "paused", 0, -1)) == ["1", "2"]
    lost = of_6.add("work", {})
    of_5.resume()
    assert sorted(client.lrange(base + "wait", 0, -1)) == ["1", "2"]
    assert client.exists(base + lost)


# where the version comes from


def test_a_queue_follows_what_a_program_has_set_before_the_hint(
    databases: tuple[Any, Any], redis_url: str, queue_name: str
) -> None:
    client, meta, paused = databases[0], f"bull:{queue_name}:meta", f"bull:{queue_name}:paused"
    url = f"{server_of(redis_url)}/0"

    def pauses_as_6(compat: str | None) -> bool:
        """Let another object than the one with the option pause the queue."""
        with Queue(queue_name, url=url, compat=compat) as setting, Queue(queue_name, url=url) as queue:
            setting.resume()
            queue.pause()
            return not client.exists(paused)

    with Queue(queue_name, url=url) as queue:
        queue.add("work", {})
    assert client.hget(meta, "version") == "bullmq:5.62.0"
    assert [pauses_as_6(compat) for compat in (None, "6", None, "5", "auto")] == [False, True, True, False, False]
    client.hset(meta, "version", "bullmq:6.7.0")
    assert [pauses_as_6(compat) for compat in (None, "5", None, "auto")] == [True, False, False, True]
    client.hset(meta, "version", "bullmq:10.0.1")
    assert pauses_as_6(None)
    client.hset(meta, "version", "bullmq:6")
    assert pauses_as_6(None)
    client.hset(meta, "ext:compat", "five")
    assert pauses_as_6(None)
    client.hset(meta, "version", "of another program")
    assert not pauses_as_6(None)
    with pytest.raises(
        InvalidOptionError, match=f"{queue_name}~cap.gpu is a route, and follows the version of its queue"
    ):
        Queue(f"{queue_name}~cap.gpu", compat="5")
    with pytest.raises(InvalidOptionError, match="skip_metas_update=True forbids"):
        Queue(queue_name, compat="5", skip_metas_update=True)
    with Queue(queue_name, url=url, compat="6") as queue:
        queue.wait_until_ready()
        queue.add("work", {}, target={"capabilities": ["gpu"]})
    assert client.hget(f"bull:{queue_name}~cap.gpu:meta", "ext:compat") == "6", "a route takes over what its queue has"


def test_a_version_that_changes_loses_no_job(databases: tuple[Any, Any], redis_url: str, queue_name: str) -> None:
    client, meta = databases[0], f"bull:{queue_name}:meta"
    ids = []
    with Queue(queue_name, url=f"{server_of(redis_url)}/0") as queue:
        for step, version in enumerate(["5.81.5", "6.7.0"] * 6):
            client.hset(meta, "version", f"bullmq:{version}")
            ids.append(queue.add("work", step).id)
            if step % 3 == 0:
                queue.pause()
            elif step % 5 == 0:
                queue.resume()
            assert queue.get_waiting_count() == len(ids)
        queue.resume()
        assert sorted(client.lrange(f"bull:{queue_name}:wait", 0, -1), key=int) == ids
        assert not client.exists(f"bull:{queue_name}:paused")
