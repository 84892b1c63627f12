"""lua/add/add_scheduler_iteration.lua: the next job of a scheduler."""

import json

import pytest
import redis

SCRIPT = "add/add_scheduler_iteration"
NOW = 1795225366409
EVERY = 10_000
OPTS = {"attempts": 0, "repeat": {"every": EVERY, "count": 2}, "repeatJobKey": "s", "timestamp": NOW}
DEFAULTS = {"now": NOW, "sid": "s", "opts": OPTS, "deid": ""}


@pytest.fixture
def scheduler(client):
    """`scheduler(queue)`: scheduler "s", whose iteration of `at` has been taken; returns the id of that job."""

    def prepare(queue, at=NOW - 4000, sid="s", **fields):
        prefix = f"bull:{queue}:"
        taken = f"repeat:{sid}:{at}"
        client.zadd(f"{prefix}repeat", {sid: at})
        client.hset(f"{prefix}repeat:{sid}", mapping={"name": "tick", "every": EVERY, "ic": 1, **fields})
        client.hset(f"{prefix}{taken}", mapping={"name": "tick", "data": "{}", "opts": "{}", "rjk": sid})
        return taken

    return prepare


@pytest.fixture
def produce(run):
    """`produce(queue, producer)`: what a worker does with the job it took."""

    def call(queue, producer, cron="", every=EVERY, name="taken", data="{}", priority=0, lifo=0, **other):
        now, sid, opts, deid = (other.get(key, default) for key, default in DEFAULTS.items())
        place = (priority, lifo, deid)
        return run(SCRIPT, queue, now, sid, producer, cron, every, name, data, json.dumps(opts), *place)

    return call


def test_without_a_scheduler_nothing_is_produced(produce, queue, dump):
    assert produce(queue, f"repeat:s:{NOW}") is None
    assert dump(queue) == {}


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["x", "s", "p", "", EVERY, "n", "{}", "{}", 0, 0, ""],
        [NOW, "s", "p", "", EVERY, "n", "{}", "no object", 0, 0, ""],
        [NOW, "s", "p", "", EVERY, "n", "{}", "{}", "high", 0, ""],
        [NOW, "s", "p", "", EVERY, "n", "{}", "{}", 0, 0],
    ],
)
def test_malformed_arguments_are_refused(run, scheduler, queue, dump, args):
    scheduler(queue)
    before = dump(queue)
    with pytest.raises(redis.ResponseError):
        run(SCRIPT, queue, *args)
    assert dump(queue) == before


def test_the_next_iteration_is_stored_delayed_and_linked(scheduler, produce, queue, dump, events):
    taken = scheduler(queue, data='{"x":1}')
    due = NOW + 6000
    new = f"repeat:s:{due}"
    assert produce(queue, taken) == new
    after = dump(queue)
    opts = json.loads(after[new].pop("opts"))
    assert opts == {**OPTS, "jobId": new, "delay": 6000}
    assert after[new] == {
        "name": "tick",
        "data": '{"x":1}',
        "timestamp": str(NOW),
        "delay": "6000",
        "priority": "0",
        "rjk": "s",
    }
    assert after["repeat"] == [("s", due)]
    assert after["repeat:s"]["ic"] == "2"
    assert after["id"] == "1"
    assert after["delayed"] == [(new, due * 4096)]
    assert after["marker"] == [("1", due)]
    assert after[taken]["nrjid"] == new
    assert events(queue) == [f"added {new} tick", f"delayed {new} {due}"]


def test_a_deduplication_id_is_stored_but_not_applied(scheduler, produce, queue, dump):
    new = produce(queue, scheduler(queue), deid="d")
    assert dump(queue)[new]["deid"] == "d"
    assert "de:d" not in dump(queue)


def test_one_job_has_only_one_successor(scheduler, produce, queue, dump):
    taken = scheduler(queue)
    produce(queue, taken)
    before = dump(queue)
    assert produce(queue, taken) is None
    assert dump(queue) == before


def test_missed_slots_are_skipped_and_the_offset_stays(scheduler, produce, queue):
    taken = scheduler(queue, at=NOW - 25_000, offset=7)
    assert produce(queue, taken) == f"repeat:s:{NOW // EVERY * EVERY + EVERY + 7}"


@pytest.mark.parametrize(("offset", "intervals"), [(7, 1), (9_000, 0), (NOW % EVERY, 1), (NOW % EVERY + 1, 0)])
def test_in_a_queue_of_6_the_next_slot_may_be_nearer_than_an_interval(
    scheduler, produce, client, queue, offset, intervals
):
    client.hset(f"bull:{queue}:meta", "version", "bullmq:6.7.0")
    taken = scheduler(queue, at=NOW - 25_000, offset=offset)
    assert produce(queue, taken) == f"repeat:s:{NOW // EVERY * EVERY + intervals * EVERY + offset}"


@pytest.mark.parametrize(
    ("priority", "lifo", "place"),
    [
        (0, 0, {"wait": ["new", "old"]}),
        (0, 1, {"wait": ["old", "new"]}),
        (2, 0, {"wait": ["old"], "prioritized": [("new", 2 * 2**32 + 1)]}),
    ],
)
def test_an_iteration_that_is_due_now_waits(scheduler, produce, client, queue, dump, events, priority, lifo, place):
    taken = scheduler(queue, at=NOW - EVERY)
    client.lpush(f"bull:{queue}:wait", "old")
    new = produce(queue, taken, priority=priority, lifo=lifo)
    after = {key: value for key, value in dump(queue).items() if key in ("wait", "prioritized", "delayed")}
    assert json.loads(json.dumps(after).replace(new, "new")) == json.loads(json.dumps(place))
    assert dump(queue)["marker"] == [("0", 0.0)]
    assert events(queue)[-1] == f"waiting {new}"


def test_a_cron_scheduler_uses_the_given_time_and_stores_it(scheduler, produce, client, queue, dump):
    taken = scheduler(queue)
    client.hdel(f"bull:{queue}:repeat:s", "every")
    new = produce(queue, taken, cron=NOW + 1234, every="")
    assert new == f"repeat:s:{NOW + 1234}"
    assert json.loads(dump(queue)[new]["opts"])["prevMillis"] == NOW + 1234


def test_a_cron_scheduler_without_a_next_time_stops(scheduler, produce, client, queue, dump):
    taken = scheduler(queue)
    client.hdel(f"bull:{queue}:repeat:s", "every")
    before = dump(queue)
    assert produce(queue, taken, every="") is None
    assert dump(queue) == before


def test_a_slot_whose_job_exists_is_reported_as_a_duplicate(scheduler, produce, client, queue, dump, events):
    taken = scheduler(queue)
    client.hset(f"bull:{queue}:repeat:s:{NOW + 6000}", "name", "there")
    assert produce(queue, taken) is None
    assert events(queue) == [f"duplicated repeat:s:{NOW + 6000}"]
    assert dump(queue)["repeat"] == [("s", NOW - 4000)]
    assert "nrjid" not in dump(queue)[taken]


def test_a_scheduler_without_data_gets_the_data_of_the_fetched_job(scheduler, produce, queue, dump):
    taken = scheduler(queue)
    new = produce(queue, taken, data='{"y":2}')
    assert dump(queue)[new]["data"] == '{"y":2}'
    assert dump(queue)["repeat:s"]["data"] == '{"y":2}'


def test_empty_data_is_not_written_to_the_scheduler(scheduler, produce, queue, dump):
    produce(queue, scheduler(queue))
    assert "data" not in dump(queue)["repeat:s"]


@pytest.mark.parametrize("sid", ["a:b", 'quo"te/\\'])
def test_any_scheduler_id_makes_valid_options(scheduler, produce, queue, dump, sid):
    new = produce(queue, scheduler(queue, sid=sid), sid=sid, opts={})
    assert json.loads(dump(queue)[new]["opts"]) == {"jobId": new, "delay": 6000}
