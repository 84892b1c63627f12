"""Job schedulers created, updated and removed leave the state of BullMQ."""

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
        {"pattern": "30 4 * * 1-5", "tz": "Asia/Kolkata"},
    ],
)
@pytest.mark.parametrize("template", [TEMPLATE, {"name": "bare"}, None])
def test_a_new_scheduler_has_its_first_job(stopped_pair, repeat, template):
    stopped_pair.tick(1234)
    stopped_pair.upsert_scheduler("s1", repeat, template)


@BOTH
@pytest.mark.parametrize("start", [-60_000, -1, 0, 1, 60_000])
def test_a_start_date_is_where_the_slots_begin(stopped_pair, repeat, start):
    stopped_pair.upsert_scheduler("s1", {**repeat, "startDate": stopped_pair.now + start}, TEMPLATE)


@BOTH
@pytest.mark.parametrize("end", [0, 1, 299_999, 300_000, 300_001])
def test_an_end_date_leaves_out_what_comes_after_it(stopped_pair, repeat, end):
    stopped_pair.upsert_scheduler("s1", {**repeat, "endDate": stopped_pair.now + end}, TEMPLATE)


@pytest.mark.parametrize(
    "opts",
    [
        {"priority": 3},
        {"lifo": True},
        {"backoff": {"type": "exponential", "delay": 5, "jitter": 0.5}},
        {"removeOnFail": True, "stackTraceLimit": 0, "sizeLimit": 5},
        {"timestamp": 5},
    ],
)
@BOTH
def test_template_options_reach_this_job_and_the_next(stopped_pair, repeat, opts):
    stopped_pair.add("before", {})
    stopped_pair.upsert_scheduler("s1", repeat, {"name": "tick", "opts": opts})
    stopped_pair.remove("1")
    stopped_pair.tick(300_000)
    id = stopped_pair.fetch("t:0")
    stopped_pair.complete(id, 1, "t:0")
    stopped_pair.tick(300_000)
    assert stopped_pair.fetch("t:1")


@pytest.mark.parametrize("opts", [{"deduplication": {"id": "d", "ttl": 5000}}, {"failParentOnFailure": True}])
@BOTH
def test_template_options_of_other_features_reach_this_job_and_the_next(stopped_pair, repeat, opts):
    stopped_pair.upsert_scheduler("s1", repeat, {"name": "tick", "opts": opts})
    stopped_pair.tick(300_000)
    stopped_pair.complete(stopped_pair.fetch("t:0"), 1, "t:0")
    stopped_pair.tick(300_000)
    assert stopped_pair.fetch("t:1")


@pytest.mark.parametrize("before", [EVERY, CRON, {**EVERY, "limit": 9}], ids=str)
@pytest.mark.parametrize("after", [EVERY, CRON, {"every": 7000}, {"pattern": "* * * * *", "tz": "Asia/Tokyo"}], ids=str)
@pytest.mark.parametrize("template", PENDING_OTHERWISE, ids=str)
def test_an_update_replaces_the_job_that_waits_in_its_slot(stopped_pair, before, after, template):
    stopped_pair.tick(1234)
    stopped_pair.upsert_scheduler("s1", before, TEMPLATE)
    stopped_pair.tick(1000)
    stopped_pair.upsert_scheduler("s1", after, template)
    stopped_pair.tick(400_000)
    stopped_pair.fetch("t:0")


def test_an_update_of_a_prioritized_job(stopped_pair):
    stopped_pair.upsert_scheduler("s1", EVERY, {"name": "p", "opts": {"priority": 3}})
    stopped_pair.tick(1000)
    stopped_pair.upsert_scheduler("s1", EVERY, {"name": "p", "opts": {"priority": 1}})


@BOTH
def test_an_update_while_paused(stopped_pair, repeat):
    stopped_pair.upsert_scheduler("s1", repeat, TEMPLATE)
    stopped_pair.pause()
    stopped_pair.tick(1000)
    stopped_pair.upsert_scheduler("s1", repeat, {"name": "other"})
    stopped_pair.resume()


@BOTH
def test_an_update_while_its_job_runs(stopped_pair, repeat):
    stopped_pair.upsert_scheduler("s1", repeat, TEMPLATE)
    stopped_pair.tick(300_000)
    id = stopped_pair.fetch("t:0")
    stopped_pair.tick(1000)
    stopped_pair.upsert_scheduler("s1", {**repeat, "limit": 9}, {"name": "other"})
    stopped_pair.complete(id, 1, "t:0")
    stopped_pair.tick(300_000)
    stopped_pair.fetch("t:1")


@pytest.mark.parametrize("late", [0, 1, 9_999, 10_000, 10_001, 34_567])
@BOTH
def test_an_update_after_the_last_iteration_has_run(stopped_pair, repeat, late):
    stopped_pair.tick(1234)
    stopped_pair.upsert_scheduler("s1", {**repeat, "limit": 1}, TEMPLATE)
    stopped_pair.tick(300_000)
    id = stopped_pair.fetch("t:0")
    stopped_pair.complete(id, 1, "t:0")
    stopped_pair.tick(late)
    stopped_pair.upsert_scheduler("s1", repeat, TEMPLATE)


@pytest.mark.parametrize("late", [0, 1, 9_999, 10_000, 10_001, 34_567])
@pytest.mark.parametrize("every", [10_000, 7000])
def test_an_update_whose_job_was_lost(stopped_pair, late, every):
    stopped_pair.tick(1234)
    id = stopped_pair.upsert_scheduler("s1", EVERY, TEMPLATE)
    stopped_pair.command("DEL", "{P}wait", "{P}" + id)
    stopped_pair.tick(late)
    stopped_pair.upsert_scheduler("s1", {"every": every}, TEMPLATE)


@pytest.mark.parametrize("taken", [[0], [0, 10_000], [10_000]])
def test_slots_of_an_interval_that_are_taken(stopped_pair, taken):
    for slot in taken:
        stopped_pair.foreign_add("other", {}, jobId=f"repeat:s1:{stopped_pair.now + slot}")
    stopped_pair.upsert_scheduler("s1", EVERY, TEMPLATE)


def test_a_cron_slot_that_is_taken(stopped_pair):
    stopped_pair.foreign_add("other", {}, jobId=f"repeat:s1:{stopped_pair.now // 300_000 * 300_000 + 300_000}")
    refused = stopped_pair.upsert_scheduler("s1", CRON, TEMPLATE)
    assert refused.code == -10


def test_an_update_frees_the_deduplication_key_of_the_job_it_replaces(stopped_pair):
    template = {"name": "tick", "opts": {"deduplication": {"id": "d"}}}
    id = stopped_pair.upsert_scheduler("s1", EVERY, template)
    stopped_pair.command("SET", "{P}de:d", id)
    stopped_pair.upsert_scheduler("s1", EVERY, template)


def test_schedulers_beside_each_other(stopped_pair):
    for id in ("a", "b:c", "d:e:f:g", "ü"):
        stopped_pair.upsert_scheduler(id, CRON, TEMPLATE)
    stopped_pair.tick(300_000)
    for turn in range(4):
        id = stopped_pair.fetch(f"t:{turn}")
        stopped_pair.complete(id, turn, f"t:{turn}")


def test_an_update_at_the_global_concurrency(stopped_pair):
    stopped_pair.set_global_concurrency(1)
    stopped_pair.add("runs", {})
    stopped_pair.fetch("t:0")
    for _ in range(2):
        stopped_pair.upsert_scheduler("s1", EVERY, {"name": "n", "opts": {"lifo": True}})


@pytest.mark.parametrize("state", ["delayed", "waiting", "prioritized", "active"])
@BOTH
def test_a_scheduler_is_removed_with_its_delayed_job_only(stopped_pair, repeat, state):
    opts = {"priority": 1} if state == "prioritized" else {}
    start = {} if repeat is CRON or state != "delayed" else {"startDate": stopped_pair.now + 5000}
    stopped_pair.upsert_scheduler("s1", {**repeat, **start}, {"name": "n", "opts": opts})
    if state != "delayed":
        stopped_pair.tick(300_000)
        stopped_pair.add("other", {})
        stopped_pair.fetch("t:0")
        if state == "active":
            stopped_pair.fetch("t:1")
    assert stopped_pair.remove_scheduler("s1") is True
    assert stopped_pair.remove_scheduler("s1") is False


def test_a_legacy_repeatable_is_taken_over_by_an_upsert(stopped_pair):
    stopped_pair.foreign_add("old", {"n": 1}, repeat={"every": 10_000, "key": "mine"})
    stopped_pair.upsert_scheduler("mine", {"every": 5000}, TEMPLATE)
    stopped_pair.tick(20_000)
    stopped_pair.fetch("t:0")
