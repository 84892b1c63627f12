"""lua/add/add_job_scheduler.lua: a scheduler and its next job."""

import json

import pytest
import redis

SCRIPT = "add/add_job_scheduler"
NOW = 1795225366409
EVERY = 10_000
OPTS = {"repeat": {"every": EVERY, "count": 1}, "repeatJobKey": "s", "timestamp": NOW}


@pytest.fixture
def upsert(run, queue):
    """`upsert(...)`: what a client does, for scheduler "s" with `every`, or with the cron time given."""

    def call(now=NOW, cron="", every=EVERY, start="", data="{}", priority=0, lifo=False, deid="", opts=None, **fields):
        every = "" if cron else every
        stored = {"name": "tick", **({"every": every} if every else {"pattern": "* * * * *"}), **fields}
        flat = [part for field in stored.items() for part in field]
        given = json.dumps({**OPTS, **(opts or {})})
        return run(SCRIPT, queue, now, "s", cron, every, start, "tick", data, given, priority, lifo, deid, *flat)

    return call


GOOD = [NOW, "s", "", EVERY, "", "tick", "{}", "{}", 0, 0, "", "name", "tick"]


@pytest.mark.parametrize(
    "args",
    [
        [],
        GOOD[:-1],
        GOOD[:-2],
        ["x", *GOOD[1:]],
        [*GOOD[:3], "", *GOOD[4:]],
        [*GOOD[:3], 0, *GOOD[4:]],
        [*GOOD[:3], -5, *GOOD[4:]],
        [*GOOD[:7], "no object", *GOOD[8:]],
        [*GOOD[:8], "high", *GOOD[9:]],
    ],
)
def test_malformed_arguments_are_refused(run, queue, dump, args):
    with pytest.raises(redis.ResponseError):
        run(SCRIPT, queue, *args)
    assert dump(queue) == {}


def test_a_new_scheduler_begins_now(upsert, queue, dump, events):
    new = f"repeat:s:{NOW}"
    assert upsert(data='{"x":1}', deid="d") == [new, 0]
    after = dump(queue)
    assert json.loads(after[new].pop("opts")) == {**OPTS, "jobId": new, "delay": 0}
    assert after[new] == {
        "name": "tick",
        "data": '{"x":1}',
        "timestamp": str(NOW),
        "delay": "0",
        "priority": "0",
        "rjk": "s",
        "deid": "d",
    }
    assert after["repeat"] == [("s", NOW)]
    assert after["repeat:s"] == {"name": "tick", "every": str(EVERY), "offset": str(NOW % EVERY), "ic": "1"}
    assert after["wait"] == [new]
    assert after["marker"] == [("0", 0)]
    assert after["id"] == "1"
    assert events(queue) == [f"added {new} tick", f"waiting {new}"]


def test_a_start_date_in_the_future_delays_the_first_job(upsert, queue, dump):
    assert upsert(start=NOW + 700) == [f"repeat:s:{NOW + 700}", 700]
    assert dump(queue)["delayed"] == [(f"repeat:s:{NOW + 700}", (NOW + 700) * 4096)]
    assert dump(queue)["repeat:s"]["offset"] == str((NOW + 700) % EVERY)


def test_a_cron_job_stores_its_time(upsert, queue, dump):
    due = NOW + 40_000
    assert upsert(cron=due) == [f"repeat:s:{due}", 40_000]
    assert json.loads(dump(queue)[f"repeat:s:{due}"]["opts"])["prevMillis"] == due
    assert dump(queue)["repeat:s"] == {"name": "tick", "pattern": "* * * * *", "offset": "0", "ic": "1"}


def test_priority_and_lifo_place_the_job(upsert, client, queue, dump):
    client.lpush(f"bull:{queue}:wait", "other")
    upsert(lifo=True)
    assert dump(queue)["wait"] == ["other", f"repeat:s:{NOW}"]
    upsert(priority=3)
    assert dump(queue)["prioritized"] == [(f"repeat:s:{NOW}", 3 * 2**32 + 1)]
    assert dump(queue)["wait"] == ["other"]


@pytest.mark.parametrize("place", ["wait", "paused"])
@pytest.mark.parametrize("paused", [False, True])
def test_a_waiting_job_in_either_list_is_replaced_in_its_slot(upsert, client, queue, dump, place, paused):
    """Version 6 leaves the jobs of a paused queue in `wait`, 5.62.0 moves them to `paused`."""
    first, _ = upsert()
    client.rename(f"bull:{queue}:wait", f"bull:{queue}:list")
    client.rename(f"bull:{queue}:list", f"bull:{queue}:{place}")
    if paused:
        client.hset(f"bull:{queue}:meta", "paused", "1")
    assert upsert(now=NOW + 5000, limit=7) == [first, 0]
    after = dump(queue)
    assert after["paused" if paused else "wait"] == [first]
    assert after["repeat:s"]["limit"] == "7"
    assert [key for key in after if key.startswith("repeat:s:")] == [first]
    assert ("wait" in after) is not paused


def test_a_field_that_is_not_given_again_is_removed_and_the_count_stays(upsert, client, queue, dump):
    upsert(limit=7, tz="UTC")
    client.hincrby(f"bull:{queue}:repeat:s", "ic", 4)
    upsert()
    assert dump(queue)["repeat:s"] == {"name": "tick", "every": str(EVERY), "offset": str(NOW % EVERY), "ic": "5"}


def test_a_job_that_runs_stays_and_the_next_slot_is_used(upsert, client, queue, dump):
    first, _ = upsert()
    client.lmove(f"bull:{queue}:wait", f"bull:{queue}:active", "RIGHT", "LEFT")
    assert upsert(now=NOW + 1) == [f"repeat:s:{NOW + EVERY}", EVERY - 1]
    assert dump(queue)["active"] == [first]


@pytest.mark.parametrize(("late", "slot"), [(EVERY, EVERY), (EVERY + 1, 2 * EVERY - NOW % EVERY)])
def test_missed_slots_are_skipped(upsert, client, queue, late, slot):
    first, _ = upsert()
    client.delete(f"bull:{queue}:{first}", f"bull:{queue}:wait")
    assert upsert(now=NOW + late)[0] == f"repeat:s:{NOW + slot}"


def test_a_slot_whose_job_exists_is_skipped(upsert, client, queue, dump):
    client.hset(f"bull:{queue}:repeat:s:{NOW}", "name", "squatter")
    assert upsert() == [f"repeat:s:{NOW + EVERY}", EVERY]


def test_if_no_slot_is_free_nothing_changes(upsert, client, queue, dump):
    for slot in (NOW, NOW + EVERY):
        client.hset(f"bull:{queue}:repeat:s:{slot}", "name", "squatter")
    before = dump(queue)
    assert upsert() == -11
    assert upsert(cron=NOW) == -10
    assert dump(queue) == before


def test_a_replaced_job_gives_up_its_deduplication_key(upsert, client, queue, dump):
    first, _ = upsert(deid="d")
    client.set(f"bull:{queue}:de:d", first)
    upsert()
    assert "de:d" not in dump(queue)


def test_upserts_at_the_same_time_leave_one_job(upsert, queue, dump):
    assert {upsert(now=NOW + late)[0] for late in range(5)} == {f"repeat:s:{NOW}"}
    assert dump(queue)["wait"] == [f"repeat:s:{NOW}"]
