"""lua/add/add_jobs.lua: adding jobs in batches."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

SCRIPT = "add/add_jobs"
NOW = 1795225366409
HEAD = [1, "n", "{}", NOW, 0, 0, 0, 0]


def test_no_runs_write_nothing(run, queue, dump):
    assert run(SCRIPT, queue) == []
    assert dump(queue) == {}


def test_a_standard_job_has_its_hash_its_place_its_events_and_a_marker(run, queue, dump):
    assert run(SCRIPT, queue, 1, "send", '{"attempts":3}', NOW, 0, 0, 0, 0, '{"a":1}') == [1]
    assert dump(queue) == {
        "1": {
            "name": "send",
            "data": '{"a":1}',
            "opts": '{"attempts":3}',
            "timestamp": str(NOW),
            "delay": "0",
            "priority": "0",
        },
        "events": [
            [("event", "added"), ("jobId", "1"), ("name", "send")],
            [("event", "waiting"), ("jobId", "1")],
        ],
        "id": "1",
        "marker": [("0", 0.0)],
        "meta": {"opts.maxLenEvents": "10000"},
        "wait": ["1"],
    }


@pytest.mark.parametrize(
    "args",
    [
        [2, *HEAD[1:], "only one"],
        [*HEAD, "one", "too many"],
        ["x", *HEAD[1:], "data"],
        [0, *HEAD[1:]],
        [*HEAD[:3], "yesterday", *HEAD[4:], "data"],
        [*HEAD[:4], "soon", *HEAD[5:], "data"],
        [*HEAD[:5], "high", *HEAD[6:], "data"],
        HEAD[:5],
        [*HEAD, "good", 3, *HEAD[1:], "cut short"],
    ],
)
def test_malformed_runs_are_refused_before_anything_is_written(run, queue, dump, args):
    with pytest.raises(redis.ResponseError, match="add_jobs"):
        run(SCRIPT, queue, *args)
    assert dump(queue) == {}


def test_the_oldest_job_is_at_the_right_end_and_a_lifo_job_after_it(add, queue, dump):
    add(queue, "a", "b")
    add(queue, "c", "d", lifo=True)
    assert dump(queue)["wait"] == ["2", "1", "3", "4"]


def test_in_a_paused_queue_jobs_go_to_paused_without_a_marker(add, client, queue, dump):
    client.hset(f"bull:{queue}:meta", "paused", 1)
    add(queue, "a")
    add(queue, "b", priority=1)
    assert dump(queue)["paused"] == ["1"]
    assert dump(queue)["prioritized"] == [("2", 2**32 + 1)]
    assert "marker" not in dump(queue)


def test_at_the_global_concurrency_no_marker_is_set(add, client, queue, dump):
    client.hset(f"bull:{queue}:meta", "concurrency", 1)
    client.lpush(f"bull:{queue}:active", "x")
    add(queue, "a")
    assert dump(queue)["wait"] == ["1"]
    assert "marker" not in dump(queue)


def test_jobs_of_one_priority_keep_their_order(add, queue, dump):
    add(queue, "a", "b", priority=2)
    add(queue, "c", priority=-1)
    assert dump(queue)["prioritized"] == [("3", -(2**32) + 3), ("1", 2 * 2**32 + 1), ("2", 2 * 2**32 + 2)]
    assert dump(queue)["pc"] == "3"


def test_delayed_jobs_due_in_the_same_ms_keep_their_order(add, queue, dump, events):
    add(queue, "a", "b", delay=1000)
    add(queue, "c", delay=1500, timestamp=NOW - 500)
    due = NOW + 1000
    assert dump(queue)["delayed"] == [("1", due * 4096), ("2", due * 4096 + 1), ("3", due * 4096 + 2)]
    assert dump(queue)["marker"] == [("1", due)]
    assert dump(queue)["1"]["delay"] == "1000"
    assert events(queue)[:2] == ["added 1 n", f"delayed 1 {due}"]


def test_at_most_4096_delayed_jobs_of_one_ms_have_different_scores(add, client, queue):
    add(queue, *["x"] * 4100, delay=1)
    scores = [score for _, score in client.zrange(f"bull:{queue}:delayed", 0, -1, withscores=True)]
    low = (NOW + 1) * 4096
    assert scores == [*range(low, low + 4096), *[low + 4095] * 4]


def test_a_delay_comes_before_a_priority_and_is_announced_while_paused_too(add, client, queue, dump):
    client.hset(f"bull:{queue}:meta", "paused", 1)
    add(queue, "a", delay=10, priority=3)
    assert dump(queue)["delayed"] == [("1", (NOW + 10) * 4096)]
    assert dump(queue)["marker"] == [("1", NOW + 10)]


def test_a_custom_id_that_exists_is_reported_and_not_changed(add, queue, dump, events):
    assert add(queue, "old", ids=["k"]) == []
    assert add(queue, "new", "n1", "n2", "n3", ids=["k", "l", "l", "m"]) == [0, 2]
    assert dump(queue)["k"]["data"] == "old"
    assert dump(queue)["l"]["data"] == "n1"
    assert dump(queue)["wait"] == ["m", "l", "k"]
    assert events(queue)[2:] == ["duplicated k", "added l n", "waiting l", "duplicated l", "added m n", "waiting m"]
    assert dump(queue)["id"] == "5"


def test_only_duplicates_set_no_marker(add, client, queue):
    add(queue, "old", ids=["k"])
    client.delete(f"bull:{queue}:marker")
    add(queue, "new", ids=["k"])
    assert not client.exists(f"bull:{queue}:marker")


def test_an_empty_custom_id_becomes_the_value_of_the_counter(add, queue, dump):
    add(queue, "a", "b", "c", ids=["k", "", "m"])
    assert dump(queue)["wait"] == ["m", "2", "k"]


def test_each_run_reports_its_first_id_or_its_duplicates(run, queue):
    custom = [2, *HEAD[1:7], 1, "k", "a", "k", "b"]
    assert run(SCRIPT, queue, 2, *HEAD[1:], "a", "b", *custom, *HEAD, "c") == [1, [1], 5]


def test_the_event_stream_is_trimmed_to_the_length_in_meta(add, client, queue):
    client.hset(f"bull:{queue}:meta", "opts.maxLenEvents", 5)
    add(queue, *["x"] * 500)
    assert client.xlen(f"bull:{queue}:events") <= 200
    assert client.hget(f"bull:{queue}:meta", "opts.maxLenEvents") == "5"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lifo": True},
        {"priority": 7},
        {"delay": 250},
        {"delay": 0.5},
        {"delay": -5},
        {"ids": ["a", "b", "a", "", "d"]},
        {"ids": ["a", "", "b", "c", "c"], "delay": 9},
    ],
)
def test_a_batch_leaves_what_single_adds_leave(add, new_queue, dump, options):
    batch, singles = new_queue(), new_queue()
    data = ["1", "2", "3", "4", "5"]
    ids = options.pop("ids", None)
    for queue in (batch, singles):
        add(queue, "0", **options)
    add(batch, *data, ids=ids, **options)
    for position, value in enumerate(data):
        add(singles, value, ids=ids and [ids[position]], **options)
    assert dump(batch) == dump(singles)


def test_concurrent_producers_never_share_an_id(add, queue, client):
    with ThreadPoolExecutor(8) as pool:
        firsts = list(pool.map(lambda _: add(queue, *["x"] * 20), range(40)))
    assert sorted(firsts) == list(range(1, 801, 20))
    assert len(set(client.lrange(f"bull:{queue}:wait", 0, -1))) == 800


def test_a_custom_id_is_part_of_the_stored_options_and_an_automatic_one_is_not(run, queue, dump):
    head = [1, "n", '{"attempts":3}', NOW, 0, 0, False, True]
    run("add/add_jobs", queue, *head, 'a/"b', "{}")
    run("add/add_jobs", queue, 1, "n", "{}", NOW, 0, 0, False, True, "c", "{}")
    run("add/add_jobs", queue, *head, "", "{}")
    state = dump(queue)
    assert json.loads(state['a/"b']["opts"]) == {"attempts": 3, "jobId": 'a/"b'}
    assert state["c"]["opts"] == '{"jobId":"c"}'
    assert state["3"]["opts"] == '{"attempts":3}'


def counted(client, queue, batch="b"):
    """Return the counter of a batch and how long it lives, in days."""
    key = f"bull:{queue}:ext:enq-{batch}"
    return client.get(key), round(client.ttl(key) / 86_400)


def test_a_batch_counts_the_jobs_that_were_really_added(run, client, queue):
    own_ids = [3, "n", "{}", NOW, 0, 0, 0, 1, "x", "1", "y", "2", "x", "3"]
    automatic = [2, "n", "{}", NOW, 0, 0, 0, 0, "4", "5"]
    assert run(SCRIPT, queue, "batch", "b", *own_ids, *automatic) == [[2], 4]
    assert counted(client, queue) == ("4", 7)
    assert run(SCRIPT, queue, "batch", "b", *own_ids) == [[0, 1, 2]]
    assert run(SCRIPT, queue, "batch", "other", *own_ids) == [[0, 1, 2]]
    assert counted(client, queue) == ("4", 7), "a call that adds nothing counts nothing"
    assert client.exists(f"bull:{queue}:ext:enq-other") == 0
    assert client.lrange(f"bull:{queue}:ext:named", 0, -1) == ["enq-b"], "obliterate finds the counter by its name"
    run(SCRIPT, queue, "batch", "b", *automatic)
    assert counted(client, queue) == ("6", 7)


def test_a_batch_without_runs_writes_nothing(run, queue, dump):
    assert run(SCRIPT, queue, "batch", "b") == []
    assert dump(queue) == {}


def test_a_counter_that_belongs_to_another_program_is_an_error_before_anything_is_written(run, client, queue, dump):
    for write in (lambda key: client.rpush(key, "x"), lambda key: client.set(key, "x")):
        client.delete(f"bull:{queue}:ext:enq-b")
        write(f"bull:{queue}:ext:enq-b")
        before = dump(queue)
        with pytest.raises(redis.ResponseError, match="another program uses this key"):
            run(SCRIPT, queue, "batch", "b", *HEAD, "data")
        assert dump(queue) == before
