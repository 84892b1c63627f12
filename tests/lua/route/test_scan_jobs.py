"""lua/route/scan_jobs.lua: a worker with a profile takes the jobs whose target it matches, and leaves the others."""

import json

import pytest
import redis

from tests.lua.conftest import NOW, Fetched

SCRIPT = "route/scan_jobs"
GPU = {"capabilities": ["gpu:a100", "ffmpeg"], "region": ["eu"], "stack": ["torch"], "server": "me"}
MINE, OTHERS = {"capabilities": ["gpu:*"]}, {"capabilities": ["tpu"]}


@pytest.fixture
def scan(run):
    """`scan(queue, count)`: a fetch with a profile, and how many jobs were left."""

    def jobs(queue, count=1, now=NOW, token="t", depth=100, profile=None, limit=("", ""), stalled_limit="", alone=0):
        rules = (*limit, "w1", count, count, stalled_limit, alone, depth, json.dumps(profile or GPU))
        *reply, unmatched = run(SCRIPT, queue, now, token, 30_000, *rules)
        return Fetched.of(reply), unmatched

    return jobs


@pytest.fixture
def add_for(add):
    """`add_for(queue, target, target, ...)`: adds jobs with these targets, as a Node producer does; None has none."""

    def jobs(queue, *targets, **options):
        for target in targets:
            opts = {} if target is None else {"target": target}
            add(queue, "{}", opts=json.dumps({"attempts": 1, **opts}, separators=(",", ":")), **options)

    return jobs


@pytest.mark.parametrize(
    "args",
    [
        [],
        [NOW, "t", 30_000, "", "", "", 1, 1, "", 0],
        [NOW, "t", 30_000, "", "", "", 1, 1, "", 0, 0, "{}"],
        [NOW, "t", 30_000, "", "", "", 0, 1, "", 0, 5, "{}"],
        [NOW, "t", 30_000, "", "", "", 1, 1, "", 0, 5, "{"],
        [NOW, "t", 30_000, "", "", "", 1, 1, "", 0, 5, '"x"'],
        [NOW, "t", 30_000, "", "", "", 1, 1, "", 0, 5],
    ],
)
def test_malformed_arguments_are_refused(run, add, queue, dump, args):
    add(queue, "a")
    before = dump(queue)
    with pytest.raises(redis.ResponseError, match="scan_jobs"):
        run(SCRIPT, queue, *args)
    assert dump(queue) == before


def test_an_empty_queue_gives_nothing_and_stays_empty(scan, queue, dump):
    assert scan(queue, 5) == ((0, 0, {}), 0)
    assert dump(queue) == {}


def test_a_taken_job_is_left_as_by_move_to_active(scan, fetch, add_for, client, new_queue, dump, events):
    scanned, plain = new_queue(), new_queue()
    for queue in (scanned, plain):
        add_for(queue, MINE)
        add_for(queue, MINE, priority=2)
        add_for(queue, MINE, delay=5)
        client.delete(f"bull:{queue}:marker")
    taken, unmatched = scan(scanned, 3, now=NOW + 5)
    other = fetch(plain, 3, now=NOW + 5, worker="w1")
    assert (taken, unmatched) == (other, 0)
    assert dump(scanned) == dump(plain)


def test_jobs_for_others_keep_their_place_and_their_order(scan, add_for, queue, dump):
    add_for(queue, OTHERS, MINE, OTHERS, None, OTHERS)
    add_for(queue, OTHERS, MINE, OTHERS, priority=1)
    before = dump(queue)
    taken, unmatched = scan(queue, 10)
    assert list(taken.jobs) == ["2", "4", "7"]
    assert unmatched == 5
    after = dump(queue)
    assert after["active"] == ["7", "4", "2"]
    assert after["wait"] == ["5", "3", "1"]
    assert after["prioritized"] == [entry for entry in before["prioritized"] if entry[0] != "7"]
    assert after["pc"] == before["pc"]
    assert {job_id: after[job_id] for job_id in "13568"} == {job_id: before[job_id] for job_id in "13568"}


def test_waiting_jobs_come_in_order_and_before_prioritized_ones(scan, add_for, queue):
    add_for(queue, MINE, priority=1)
    add_for(queue, MINE, OTHERS, MINE)
    assert [list(scan(queue)[0].jobs) for _ in range(4)] == [["2"], ["4"], ["1"], []]


def test_a_scan_that_takes_nothing_writes_nothing(scan, add_for, client, queue, dump):
    add_for(queue, OTHERS, OTHERS)
    add_for(queue, OTHERS, priority=3)
    client.delete(f"bull:{queue}:marker")
    before = dump(queue)
    assert scan(queue, 2) == ((0, 0, {}), 3)
    assert dump(queue) == before


@pytest.mark.parametrize("priority", [0, 2])
@pytest.mark.parametrize(("others", "found"), [(99, True), (100, False)])
def test_jobs_behind_the_depth_are_not_found(scan, add_for, queue, priority, others, found):
    add_for(queue, *[OTHERS] * others, MINE, priority=priority)
    taken, unmatched = scan(queue, 5)
    assert list(taken.jobs) == ([str(others + 1)] if found else [])
    assert unmatched == others


def test_prioritized_jobs_have_a_depth_of_their_own(scan, add_for, queue):
    add_for(queue, *[OTHERS] * 3)
    add_for(queue, OTHERS, OTHERS, MINE, MINE, priority=1)
    taken, unmatched = scan(queue, 2, depth=3)
    assert (list(taken.jobs), unmatched) == (["6"], 5)


def test_the_scan_ends_with_the_last_job_that_is_wanted(scan, add_for, queue):
    add_for(queue, OTHERS, MINE, OTHERS, MINE)
    assert scan(queue, 1)[1] == 1


def test_a_small_depth_does_not_make_fetches_smaller(scan, add_for, queue, dump):
    add_for(queue, *[MINE] * 4)
    assert list(scan(queue, 3, depth=1)[0].jobs) == ["1", "2", "3"]
    assert dump(queue)["wait"] == ["4"]


def test_the_field_tgt_goes_before_the_options(scan, add_for, client, queue):
    add_for(queue, OTHERS, MINE)
    client.hset(f"bull:{queue}:1", "tgt", json.dumps(MINE))
    client.hset(f"bull:{queue}:2", "tgt", json.dumps(OTHERS))
    assert list(scan(queue, 5)[0].jobs) == ["1"]


def test_the_word_target_elsewhere_in_the_options_is_no_target(scan, add, queue):
    add(queue, "a", opts='{"backoff":{"type":"custom","target":"x"}}')
    add(queue, "b", opts='{"target":null}')
    assert list(scan(queue, 5)[0].jobs) == ["1", "2"]


@pytest.mark.parametrize(
    "target",
    [
        '"gpu"',
        "7",
        "{",
        '{"mode":"most"}',
        '{"capabilities":7}',
        '{"capabilities":{"a":1}}',
        '{"region":[1]}',
        '{"server":["a","b"]}',
        '{"gpu":true}',
    ],
)
def test_a_target_that_cannot_be_read_is_nobodys(scan, add, client, queue, target):
    add(queue, "a")
    client.hset(f"bull:{queue}:1", "tgt", target)
    assert scan(queue) == ((0, 0, {}), 1)


@pytest.mark.parametrize(
    ("target", "matches"),
    [
        ({}, True),
        ({"capabilities": [], "server": ""}, True),
        ({"mode": "any"}, True),
        ({"server": "me", "region": ["us"]}, True),
        ({"server": "you", "region": ["eu"]}, False),
        ({"capabilities": ["gpu:a100"]}, True),
        ({"capabilities": ["gpu:h100"]}, False),
        ({"capabilities": ["gpu:*", "ffmpeg"]}, True),
        ({"capabilities": ["gpu:*", "tpu"]}, False),
        ({"capabilities": ["gpu:*", "tpu"], "mode": "each"}, True),
        ({"capabilities": ["*"]}, True),
        ({"capabilities": "ffmpeg"}, True),
        ({"region": ["us", "eu"]}, True),
        ({"region": ["e*"]}, False),
        ({"region": ["EU"]}, False),
        ({"stack": ["torch"], "region": ["us"]}, False),
        ({"stack": ["torch"], "region": ["us"], "mode": "any"}, True),
        ({"stack": ["jax"], "region": ["us"], "mode": "any"}, False),
        ({"stack": ["jax"], "capabilities": ["tpu", "ffmpeg"], "mode": "any"}, True),
        ({"stack": ["torch", "jax"], "capabilities": ["tpu", "ffmpeg"], "region": ["eu"], "mode": "each"}, True),
        ({"stack": ["torch"], "capabilities": ["tpu"], "mode": "each"}, False),
        ({"region": ["eu"], "fallback": "base", "fallback_after": 5}, True),
    ],
    ids=str,
)
def test_a_worker_takes_the_jobs_that_its_profile_matches(scan, add_for, queue, target, matches):
    add_for(queue, target)
    assert list(scan(queue)[0].jobs) == (["1"] if matches else [])


def test_a_profile_without_capabilities_has_not_even_any(scan, add_for, queue):
    add_for(queue, {"capabilities": ["*"]})
    assert scan(queue, profile={"region": "eu"}) == ((0, 0, {}), 1)
    assert scan(queue, profile={"capabilities": ["x"]})[1] == 0


def test_a_paused_queue_and_one_at_its_concurrency_give_nothing(scan, add_for, client, queue):
    add_for(queue, MINE, MINE, MINE)
    client.hset(f"bull:{queue}:meta", "concurrency", 2)
    assert list(scan(queue, 5)[0].jobs) == ["1", "2"]
    assert scan(queue, 5) == ((0, 0, {}), 0)
    client.hset(f"bull:{queue}:meta", "paused", 1)
    assert scan(queue, 5) == ((0, 0, {}), 0)


def test_the_rate_limit_counts_only_what_was_taken(scan, add_for, client, queue):
    add_for(queue, OTHERS, MINE, OTHERS, MINE, MINE)
    assert list(scan(queue, 5, limit=(2, 5000))[0].jobs) == ["2", "4"]
    assert client.get(f"bull:{queue}:limiter") == "2"
    taken, _ = scan(queue, 5, limit=(2, 5000))
    assert taken.jobs == {}
    assert 0 < taken.limit_ttl <= 5000


def test_an_id_without_a_hash_and_one_of_another_type_only_leave(scan, add_for, client, queue, dump):
    add_for(queue, OTHERS)
    client.lpush(f"bull:{queue}:wait", "gone", "odd")
    client.set(f"bull:{queue}:odd", "text")
    taken, unmatched = scan(queue, 5)
    assert (taken.jobs, unmatched) == ({"gone": {}, "odd": None}, 1)
    assert dump(queue)["wait"] == ["1"]
    assert {"active", "gone", "gone:lock"} & set(dump(queue)) == set()


def test_the_wake_up_marker_of_an_old_version_is_removed(scan, add_for, client, queue, dump):
    add_for(queue, OTHERS, MINE)
    client.rpush(f"bull:{queue}:wait", "0:1")
    assert list(scan(queue, 5)[0].jobs) == ["2"]
    assert dump(queue)["wait"] == ["1"]


def test_a_job_that_stalled_before_runs_alone(scan, add_for, client, queue):
    add_for(queue, OTHERS, MINE, MINE)
    client.hset(f"bull:{queue}:3", "stc", 1)
    assert list(scan(queue, 5, stalled_limit=1)[0].jobs) == ["2"]
    assert list(scan(queue, 5, stalled_limit=1)[0].jobs) == []
    assert list(scan(queue, 5, stalled_limit=1, alone=1)[0].jobs) == ["3"]
