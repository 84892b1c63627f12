"""Job schedulers created, updated and removed: the state that BullMQ 5.62.0 leaves."""

import pytest

EVERY = {"every": 10_000}
CRON = {"pattern": "0 */5 * * * *", "tz": "UTC"}
BOTH = pytest.mark.parametrize("repeat", [EVERY, CRON], ids=["every", "pattern"])
TEMPLATE = {
    "name": "tick",
    "data": {"n": [1, {"a/b": "ü"}]},
    "opts": {"attempts": 2, "backoff": 1000, "removeOnComplete": {"count": 3}, "keepLogs": 5},
}
PENDING_OTHERWISE = [{"name": "other"}, {"name": "p", "data": 7, "opts": {"priority": 4}}, TEMPLATE]


@pytest.mark.parametrize(
    "repeat",
    [
        EVERY,
        CRON,
        {**EVERY, "limit": 3},
        {**EVERY, "limit": 3, "count": 2},
        {**EVERY, "limit": 3, "count": 3},
        {**EVERY, "limit": 0},
        {**EVERY, "offset": 77},
        {**EVERY, "tz": "Europe/Paris"},
        {**EVERY, "immediately": True},
        {**CRON, "immediately": True},
        {**CRON, "limit": 2, "tz": "America/New_York"},
        {"pattern": "@daily", "utc": True},
        {"pattern": "30 4 * * 1-5", "tz": "Asia/Kolkata"},
    ],
)
@pytest.mark.parametrize("template", [TEMPLATE, {"name": "bare"}, None])
def test_a_new_scheduler_has_its_first_job(pair, repeat, template):
    pair.tick(1234)
    pair.upsert_scheduler("s1", repeat, template)


@BOTH
@pytest.mark.parametrize("start", [-60_000, -1, 0, 1, 60_000])
def test_a_start_date_is_where_the_slots_begin(pair, repeat, start):
    pair.upsert_scheduler("s1", {**repeat, "startDate": pair.now + start}, TEMPLATE)


@BOTH
@pytest.mark.parametrize("end", [0, 1, 299_999, 300_000, 300_001])
def test_an_end_date_leaves_out_what_comes_after_it(pair, repeat, end):
    pair.upsert_scheduler("s1", {**repeat, "endDate": pair.now + end}, TEMPLATE)


@pytest.mark.parametrize(
    "opts",
    [
        {"priority": 3},
        {"lifo": True},
        {"deduplication": {"id": "d", "ttl": 5000}},
        {"failParentOnFailure": True},
        {"backoff": {"type": "exponential", "delay": 5, "jitter": 0.5}},
        {"removeOnFail": True, "stackTraceLimit": 0, "sizeLimit": 5},
        {"timestamp": 5},
    ],
)
@BOTH
def test_template_options_reach_this_job_and_the_next(pair, repeat, opts):
    pair.add("before", {})
    pair.upsert_scheduler("s1", repeat, {"name": "tick", "opts": opts})
    pair.remove("1")
    pair.tick(300_000)
    id = pair.fetch("t:0")
    pair.complete(id, 1, "t:0")
    pair.tick(300_000)
    assert pair.fetch("t:1")


@pytest.mark.parametrize("before", [EVERY, CRON, {**EVERY, "limit": 9}], ids=str)
@pytest.mark.parametrize("after", [EVERY, CRON, {"every": 7000}, {"pattern": "* * * * *", "tz": "Asia/Tokyo"}], ids=str)
@pytest.mark.parametrize("template", PENDING_OTHERWISE, ids=str)
def test_an_update_replaces_the_job_that_waits_in_its_slot(pair, before, after, template):
    pair.tick(1234)
    pair.upsert_scheduler("s1", before, TEMPLATE)
    pair.tick(1000)
    pair.upsert_scheduler("s1", after, template)
    pair.tick(400_000)
    pair.fetch("t:0")


def test_an_update_of_a_prioritized_job(pair):
    pair.upsert_scheduler("s1", EVERY, {"name": "p", "opts": {"priority": 3}})
    pair.tick(1000)
    pair.upsert_scheduler("s1", EVERY, {"name": "p", "opts": {"priority": 1}})


@BOTH
def test_an_update_while_paused(pair, repeat):
    pair.upsert_scheduler("s1", repeat, TEMPLATE)
    pair.pause()
    pair.tick(1000)
    pair.upsert_scheduler("s1", repeat, {"name": "other"})
    pair.resume()


@BOTH
def test_an_update_while_its_job_runs(pair, repeat):
    pair.upsert_scheduler("s1", repeat, TEMPLATE)
    pair.tick(300_000)
    id = pair.fetch("t:0")
    pair.tick(1000)
    pair.upsert_scheduler("s1", {**repeat, "limit": 9}, {"name": "other"})
    pair.complete(id, 1, "t:0")
    pair.tick(300_000)
    pair.fetch("t:1")


@pytest.mark.parametrize("late", [0, 1, 9_999, 10_000, 10_001, 34_567])
@BOTH
def test_an_update_after_the_last_iteration_has_run(pair, repeat, late):
    pair.tick(1234)
    pair.upsert_scheduler("s1", {**repeat, "limit": 1}, TEMPLATE)
    pair.tick(300_000)
    id = pair.fetch("t:0")
    pair.complete(id, 1, "t:0")
    pair.tick(late)
    pair.upsert_scheduler("s1", repeat, TEMPLATE)


@pytest.mark.parametrize("late", [0, 1, 9_999, 10_000, 10_001, 34_567])
@pytest.mark.parametrize("every", [10_000, 7000])
def test_an_update_whose_job_was_lost(pair, late, every):
    pair.tick(1234)
    id = pair.upsert_scheduler("s1", EVERY, TEMPLATE)
    pair.command("DEL", "{P}wait", "{P}" + id)
    pair.tick(late)
    pair.upsert_scheduler("s1", {"every": every}, TEMPLATE)


@pytest.mark.parametrize("taken", [[0], [0, 10_000], [10_000]])
def test_slots_of_an_interval_that_are_taken(pair, taken):
    for slot in taken:
        pair.foreign_add("squatter", {}, jobId=f"repeat:s1:{pair.now + slot}")
    pair.upsert_scheduler("s1", EVERY, TEMPLATE)


def test_a_cron_slot_that_is_taken(pair):
    pair.foreign_add("squatter", {}, jobId=f"repeat:s1:{pair.now // 300_000 * 300_000 + 300_000}")
    refused = pair.upsert_scheduler("s1", CRON, TEMPLATE)
    assert refused.code == -10


def test_an_update_frees_the_deduplication_key_of_the_job_it_replaces(pair):
    template = {"name": "tick", "opts": {"deduplication": {"id": "d"}}}
    id = pair.upsert_scheduler("s1", EVERY, template)
    pair.command("SET", "{P}de:d", id)
    pair.upsert_scheduler("s1", EVERY, template)


def test_schedulers_beside_each_other(pair):
    for id in ("a", "b:c", "d:e:f:g", "ü"):
        pair.upsert_scheduler(id, CRON, TEMPLATE)
    pair.tick(300_000)
    for turn in range(4):
        id = pair.fetch(f"t:{turn}")
        pair.complete(id, turn, f"t:{turn}")


def test_an_update_at_the_global_concurrency(pair):
    pair.set_global_concurrency(1)
    pair.add("runs", {})
    pair.fetch("t:0")
    for _ in range(2):
        pair.upsert_scheduler("s1", EVERY, {"name": "n", "opts": {"lifo": True}})


@pytest.mark.parametrize("state", ["delayed", "waiting", "prioritized", "active"])
@BOTH
def test_a_scheduler_is_removed_with_its_delayed_job_only(pair, repeat, state):
    opts = {"priority": 1} if state == "prioritized" else {}
    start = {} if repeat is CRON or state != "delayed" else {"startDate": pair.now + 5000}
    pair.upsert_scheduler("s1", {**repeat, **start}, {"name": "n", "opts": opts})
    if state != "delayed":
        pair.tick(300_000)
        pair.add("other", {})
        pair.fetch("t:0")
        if state == "active":
            pair.fetch("t:1")
    assert pair.remove_scheduler("s1") is True
    assert pair.remove_scheduler("s1") is False


def test_a_legacy_repeatable_is_taken_over_by_an_upsert(pair):
    pair.foreign_add("old", {"n": 1}, repeat={"every": 10_000, "key": "mine"})
    pair.upsert_scheduler("mine", {"every": 5000}, TEMPLATE)
    pair.tick(20_000)
    pair.fetch("t:0")
