"""lua/fetch/move_to_active.lua: fetching jobs in batches."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

SCRIPT = "fetch/move_to_active"
NOW = 1795225366409
MANUAL_LIMIT = 9007199254740991


def set_meta(client, queue, **fields):
    client.hset(f"bull:{queue}:meta", mapping=fields)


def test_an_empty_queue_gives_nothing_and_stays_empty(fetch, queue, dump):
    assert fetch(queue, 5) == (0, 0, {})
    assert dump(queue) == {}


@pytest.mark.parametrize(
    "args",
    [
        [],
        [NOW, "t", 30_000, "", "", ""],
        [NOW, "t", 30_000, "", "", "", 1],
        [NOW, "t", 30_000, "", "", "", 1, "x", "", 0],
        ["x", "t", 1, "", "", "", 1, 1, "", 0],
        [NOW, "t", 1, "", "", "", 0, 0, "", 0],
    ],
)
def test_malformed_arguments_are_refused(run, add, queue, dump, args):
    add(queue, "a")
    before = dump(queue)
    with pytest.raises(redis.ResponseError, match="move_to_active"):
        run(SCRIPT, queue, *args)
    assert dump(queue) == before


def test_a_fetched_job_is_active_locked_stamped_and_returned_as_before(add, fetch, client, queue, dump, events):
    add(queue, "a")
    client.delete(f"bull:{queue}:marker")
    before = dump(queue)["1"]
    taken = fetch(queue, token="me:1", worker="w1", lock=5000)
    after = dump(queue)
    assert after["active"] == ["1"]
    assert "wait" not in after
    assert after["1:lock"] == "me:1"
    assert 0 < client.pttl(f"bull:{queue}:1:lock") <= 5000
    assert after["1"]["processedOn"] == str(NOW)
    assert after["1"]["ats"] == "1"
    assert after["1"]["pb"] == "w1"
    assert taken.jobs == {"1": before}
    assert after["marker"] == [("0", 0.0)]
    assert events(queue)[-1] == "active 1 waiting"


@pytest.mark.parametrize(
    "stored",
    [
        {"ats": 2},
        {"processedOn": 5},
        {"pb": "old"},
        {"ats": 2, "pb": "old"},
        {"ats": 1, "processedOn": 5, "pb": "old"},
    ],
)
@pytest.mark.parametrize("worker", ["", "new"])
def test_a_second_fetch_counts_another_start_and_returns_the_old_fields(
    add, fetch, client, queue, dump, stored, worker
):
    add(queue, "a")
    client.hset(f"bull:{queue}:1", mapping=stored)
    before = dump(queue)["1"]
    assert fetch(queue, worker=worker).jobs["1"] == before
    assert dump(queue)["1"]["ats"] == str(stored.get("ats", 0) + 1)
    assert dump(queue)["1"].get("pb", "") == (worker or stored.get("pb", ""))


def test_waiting_jobs_come_in_order_and_before_prioritized_ones(add, fetch, queue, dump):
    add(queue, "a", "b", priority=1)
    add(queue, "c", "d")
    assert list(fetch(queue, 3).jobs) == ["3", "4", "1"]
    assert dump(queue)["active"] == ["1", "4", "3"]
    assert dump(queue)["pc"] == "2"


def test_the_priority_counter_starts_again_once_a_fetch_finds_no_prioritized_job(add, fetch, queue, dump):
    add(queue, "a", priority=1)
    assert list(fetch(queue, 2).jobs) == ["1"]
    assert "pc" not in dump(queue)


def test_due_jobs_are_promoted_and_the_next_due_time_is_returned(add, fetch, queue, dump, events):
    add(queue, "a", delay=100)
    add(queue, "b", delay=100, priority=2)
    add(queue, "c", delay=5000)
    taken = fetch(queue, 5, now=NOW + 100)
    assert list(taken.jobs) == ["1", "2"]
    assert taken[:2] == (0, NOW + 5000)
    assert dump(queue)["1"]["delay"] == "0"
    assert events(queue)[-4:] == ["waiting 1 delayed", "waiting 2 delayed", "active 1 waiting", "active 2 waiting"]


def test_a_full_batch_does_not_return_the_next_due_time(add, fetch, queue):
    add(queue, "a")
    add(queue, "b", delay=5000)
    assert fetch(queue, 1)[:2] == (0, 0)


def test_in_a_paused_queue_due_jobs_are_promoted_but_not_fetched(add, fetch, client, queue, dump):
    add(queue, "a", delay=1)
    set_meta(client, queue, paused=1)
    assert fetch(queue, 5, now=NOW + 1) == (0, 0, {})
    assert dump(queue)["paused"] == ["1"]


def test_the_global_concurrency_limits_the_batch(add, fetch, client, queue):
    add(queue, *"abcde")
    set_meta(client, queue, concurrency=3)
    assert list(fetch(queue, 2).jobs) == ["1", "2"]
    assert list(fetch(queue, 5).jobs) == ["3"]
    assert fetch(queue, 5) == (0, 0, {})


def test_the_reply_says_that_the_queue_is_at_its_global_concurrency(add, fetch, client, queue):
    add(queue, *"abcde")
    set_meta(client, queue, concurrency=3)
    holds = [fetch(queue, 2, raw=True)[2]]
    client.zpopmin(f"bull:{queue}:marker")
    holds += [fetch(queue, 2, raw=True)[2] for _ in range(2)]
    # A slot is left; the last one is taken, after a worker had taken the marker; no job could be taken.
    assert holds == [1, 4 * 3 + 1, 4 * 3]


def test_the_limiter_limits_the_batch_and_returns_when_it_ends(add, fetch, client, queue):
    add(queue, *"abcde")
    taken = fetch(queue, 5, limit=(3, 60_000.9))
    assert list(taken.jobs) == ["1", "2", "3"]
    assert 0 < taken.limit_ttl <= 60_000
    assert client.get(f"bull:{queue}:limiter") == "3"
    again = fetch(queue, 5, limit=(3, 60_000))
    assert again.jobs == {}
    assert 0 < again.limit_ttl <= 60_000


def test_a_limit_that_is_not_reached_returns_no_time(add, fetch, queue):
    add(queue, "a")
    assert fetch(queue, 3, limit=(3, 60_000)).limit_ttl == 0


def test_the_queue_decides_the_maximum_and_the_worker_the_duration(add, fetch, client, queue):
    add(queue, *"abcde")
    set_meta(client, queue, max=2, duration=90_000)
    assert len(fetch(queue, 5, limit=(4, 1000)).jobs) == 2
    assert 0 < client.pttl(f"bull:{queue}:limiter") <= 1000


def test_a_manual_rate_limit_stops_only_workers_with_a_maximum(add, fetch, client, queue):
    add(queue, "a", "b")
    client.set(f"bull:{queue}:limiter", MANUAL_LIMIT, px=60_000)
    assert fetch(queue, 1, limit=(5, 1000)).jobs == {}
    assert list(fetch(queue, 1).jobs) == ["1"]


def test_a_limiter_without_time_to_live_limits_nothing(add, fetch, client, queue):
    add(queue, *"abcde")
    client.set(f"bull:{queue}:limiter", 2)
    assert len(fetch(queue, 5, limit=(3, 60_000)).jobs) == 5


def test_token_zero_takes_no_lock(add, fetch, queue, dump):
    add(queue, "a")
    fetch(queue, token="0")
    assert "1:lock" not in dump(queue)


def test_markers_of_old_versions_are_dropped(add, fetch, client, queue, dump):
    add(queue, "a", "b")
    client.rpush(f"bull:{queue}:wait", "0:5", "0:6")
    assert list(fetch(queue, 2).jobs) == ["1", "2"]
    assert dump(queue)["active"] == ["2", "1"]
    assert "wait" not in dump(queue)


@pytest.mark.parametrize("markers", [["0:0"], ["0:1700000000000", "0:0"], ["0:0"] * 5], ids=len)
@pytest.mark.parametrize("waiting", [0, 1, 3])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_marker_of_an_old_version_takes_the_place_of_no_job(add, fetch, client, queue, dump, markers, waiting, count):
    """BullMQ 4 sets it beside prioritized jobs: each of them is taken once, and none leaves its set without that."""
    add(queue, *"abcde", priority=3)
    if waiting:
        add(queue, *"fgh"[:waiting])
    client.rpush(f"bull:{queue}:wait", *markers)
    order = [*"678"[:waiting], *"12345"]
    taken = list(fetch(queue, count).jobs)
    assert taken == order[:count]
    assert dump(queue)["active"] == taken[::-1]
    left = [*dump(queue).get("wait", [])[::-1], *client.zrange(f"bull:{queue}:prioritized", 0, -1)]
    assert left == order[count:]


@pytest.mark.parametrize("worker", ["", "w"])
@pytest.mark.parametrize("place", ["wait", "prioritized"])
def test_an_id_without_a_hash_only_leaves_its_place(add, fetch, client, queue, dump, events, place, worker):
    """It is no job: it gets no lock, no event and no hash, and it is not active."""
    add(queue, "a", "gone", "b", **({"priority": 3} if place == "prioritized" else {}))
    client.delete(f"bull:{queue}:2")
    said = events(queue)
    taken = fetch(queue, 3, worker=worker)
    assert taken.jobs["2"] == {}
    assert list(taken.jobs) == ["1", "2", "3"]
    state = dump(queue)
    assert state["active"] == ["3", "1"]
    assert {name for name in state if name.startswith("2")} == set()
    assert place not in state
    assert events(queue)[len(said) :] == ["active 1 waiting", "active 3 waiting"]


def test_ids_without_a_hash_count_in_no_limit_and_leave_the_marker(add, fetch, client, queue, dump):
    """A worker that gets nothing but such ids looks again at once."""
    add(queue, *"abcd")
    client.delete(f"bull:{queue}:1", f"bull:{queue}:2", f"bull:{queue}:marker")
    taken = fetch(queue, 2, limit=(2, 60_000))
    assert (taken.jobs, taken.limit_ttl) == ({"1": {}, "2": {}}, 0)
    state = dump(queue)
    assert ("limiter" in state, "active" in state, state["marker"]) == (False, False, [("0", 0.0)])
    assert list(fetch(queue, 2, limit=(2, 60_000)).jobs) == ["3", "4"]


def test_a_delayed_id_without_a_hash_gets_none_when_it_is_due(add, fetch, client, queue, dump):
    add(queue, "gone", delay=100)
    client.delete(f"bull:{queue}:1")
    assert fetch(queue, now=NOW + 100).jobs == {"1": {}}
    state = dump(queue)
    assert [name for name in ("1", "delayed", "wait", "active") if name in state] == []


def test_more_jobs_than_one_command_can_take_are_moved(add, fetch, client, queue):
    add(queue, *["x"] * 2500)
    assert len(fetch(queue, 3000).jobs) == 2500
    assert client.lrange(f"bull:{queue}:active", 0, 1) == ["2500", "2499"]


SITUATIONS = {
    "plain": {},
    "named": {"worker": "w"},
    "limited": {"limit": (4, 60_000)},
    "at the limit": {"limit": (2, 60_000)},
    "capped": {"meta": {"concurrency": 3}},
    "capped and limited": {"meta": {"concurrency": 3, "max": 4, "duration": 60_000}},
}


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("count", [1, 3, 9])
def test_a_batch_leaves_what_single_fetches_leave(add, fetch, client, new_queue, dump, situation, count):
    options = dict(SITUATIONS[situation])
    meta = options.pop("meta", None)
    batch, singles = new_queue(), new_queue()
    for queue in (batch, singles):
        add(queue, "a", "b", delay=1)
        add(queue, "c", "d", priority=2)
        add(queue, "e", "f")
        add(queue, "g", delay=90_000)
        if meta:
            set_meta(client, queue, **meta)
    together = fetch(batch, count, now=NOW + 5, **options)
    alone = [fetch(singles, 1, now=NOW + 5, **options) for _ in range(count)]
    assert dump(batch) == dump(singles)
    assert together.jobs == {job_id: job for one in alone for job_id, job in one.jobs.items()}
    assert together.next_delayed == alone[-1].next_delayed
    assert (together.limit_ttl > 0) == (alone[-1].limit_ttl > 0)


def test_concurrent_workers_never_take_the_same_job(add, fetch, client, queue):
    add(queue, *["x"] * 400)
    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(lambda n: fetch(queue, 7, token=f"t{n}").jobs, range(70)))
    taken = [job_id for jobs in batches for job_id in jobs]
    assert sorted(taken, key=int) == [str(n) for n in range(1, 401)]
    for number, jobs in enumerate(batches):
        assert all(client.get(f"bull:{queue}:{job_id}:lock") == f"t{number}" for job_id in jobs)


def test_an_id_whose_key_is_no_hash_leaves_the_queue_and_stops_no_other_job(add, fetch, queue, client, dump):
    add(queue, "1", "2")
    client.set(f"bull:{queue}:bad", "not a job")
    client.rpush(f"bull:{queue}:wait", "bad")
    assert fetch(queue, 3).jobs.keys() == {"bad", "1", "2"}
    after = dump(queue)
    assert after["active"] == ["2", "1"]
    assert "bad:lock" not in after
    assert after["bad"] == "not a job"


@pytest.mark.parametrize("kind", ["standard", "with more fields"])
def test_a_fetch_takes_about_a_megabyte_and_one_job_at_least(add, fetch, client, queue, kind):
    """All other clients wait for its reply. The marker brings the worker back for the rest."""
    add(queue, *['"' + "x" * 400_000 + '"'] * 5, '"' + "x" * 2_000_000 + '"')
    if kind != "standard":
        for job_id in range(1, 7):
            client.hset(f"bull:{queue}:{job_id}", "atm", 1)
    assert [list(fetch(queue, 100).jobs) for _ in range(3)] == [["1", "2", "3"], ["4", "5", "6"], []]
    assert client.exists(f"bull:{queue}:marker")
