"""lua/manage/clean.lua: removing old jobs of one state, 250 per call."""

import pytest

from .conftest import NOW

SCRIPT = "manage/clean"
LISTS = ("wait", "paused", "active")
SETS = ("delayed", "prioritized")
FINISHED = ("completed", "failed")


@pytest.fixture
def clean(run, queue):
    """`clean(state, cutoff, limit)`: calls until the pass is over; returns the ordered ids and the number of calls."""

    def one_pass(state, cutoff=NOW, limit=10_000):
        more, kept, removed, ids, calls = 1, 0, 0, [], 0
        while more:
            more, kept, removed, *some = run(SCRIPT, queue, state, cutoff, limit, kept, removed)
            ids += some
            calls += 1
        return ids, calls

    return one_pass


@pytest.mark.parametrize("state", [*LISTS, *SETS, *FINISHED])
def test_the_clean_of_an_empty_state_removes_nothing_and_is_announced(clean, queue, events, state):
    assert clean(state) == ([], 1)
    assert events(queue) == ["cleaned 0"]


@pytest.mark.parametrize("state", [*LISTS, *SETS, *FINISHED])
def test_a_quiet_clean_that_removes_nothing_leaves_no_trace(run, queue, dump, state):
    assert run(SCRIPT, queue, state, NOW, 10, 0, 0, 1) == [0, 0, 0]
    assert dump(queue) == {}


def test_a_quiet_clean_that_removes_jobs_is_announced(run, queue, store, events):
    store("1", "completed", NOW)
    assert run(SCRIPT, queue, "completed", NOW, 10, 0, 0, 1) == [0, 0, 1, "1"]
    assert events(queue) == ["cleaned 1"]


@pytest.mark.parametrize("state", FINISHED)
def test_jobs_that_finished_by_the_cutoff_are_removed_oldest_first(clean, queue, store, dump, events, state):
    for job_id, finished in (("new", NOW + 1), ("old", NOW), ("older", NOW - 5)):
        store(job_id, state, finished, timestamp=NOW + 100)
    assert clean(state)[0] == ["older", "old"]
    assert dump(queue)[state] == [("new", NOW + 1)]
    assert "old" not in dump(queue)
    assert events(queue) == ["cleaned 2"]


@pytest.mark.parametrize("state", [*LISTS, *SETS])
@pytest.mark.parametrize(
    ("times", "goes", "goes_with_a_priority"),
    [
        ({"timestamp": NOW}, True, True),
        ({"timestamp": NOW + 1}, False, False),
        ({"timestamp": NOW, "processedOn": NOW + 1}, False, True),
        ({"timestamp": NOW + 1, "processedOn": NOW}, True, False),
    ],
)
def test_the_age_of_a_job_is_that_of_its_last_start_and_with_a_priority_that_of_its_add(
    clean, store, state, times, goes, goes_with_a_priority
):
    store("1", state, 5, **times)
    assert clean(state)[0] == (["1"] if (goes_with_a_priority if state == "prioritized" else goes) else [])


def test_a_due_time_does_not_matter(clean, store):
    store("1", "delayed", (NOW + 1_000_000) * 4096, timestamp=NOW)
    assert clean("delayed")[0] == ["1"]


@pytest.mark.parametrize("state", [*LISTS, *SETS, *FINISHED])
def test_an_id_without_a_hash_is_removed(clean, queue, client, store, dump, state):
    store("1", state, 5)
    client.delete(f"bull:{queue}:1")
    assert clean(state)[0] == ["1"]
    assert state not in dump(queue)


def test_an_active_job_is_removed_only_without_a_lock(clean, queue, client, store, dump):
    store("held", "active")
    store("dropped", "active")
    client.set(f"bull:{queue}:held:lock", "w:0")
    assert clean("active")[0] == ["dropped"]
    assert dump(queue)["active"] == ["held"]


@pytest.mark.parametrize("state", ["wait", "delayed", "prioritized"])
def test_the_next_job_of_a_scheduler_stays(clean, queue, client, store, state):
    client.zadd(f"bull:{queue}:repeat", {"s": 20})
    store("repeat:s:20", state, 1, rjk="s")
    store("repeat:s:10", state, 2, rjk="s")
    assert clean(state)[0] == ["repeat:s:10"]


@pytest.mark.parametrize("state", ["wait", "delayed"])
def test_the_limit_counts_the_candidates(clean, store, state):
    for n in range(4):
        store(str(n), state, n, timestamp=NOW + (n == 0))
    assert sorted(clean(state, limit=3)[0]) == ["1", "2"]


@pytest.mark.parametrize("state", ["wait", "delayed", "completed"])
def test_thousands_are_removed_in_calls_of_250_with_one_event(clean, queue, client, dump, events, state):
    with client.pipeline() as pipe:
        for n in range(2_500):
            age = NOW + (n % 7 == 0)
            pipe.hset(f"bull:{queue}:{n}", mapping={"name": "n", "timestamp": age})
            if state == "wait":
                pipe.lpush(f"bull:{queue}:wait", n)
            else:
                pipe.zadd(f"bull:{queue}:{state}", {n: age if state == "completed" else n})
        pipe.execute()
    ids, calls = clean(state)
    assert calls in {9, 11}  # of finished jobs, only the old ones are read
    assert sorted(ids, key=int) == [str(n) for n in range(2_500) if n % 7]
    assert events(queue) == [f"cleaned {len(ids)}"]
    after = dump(queue)
    left = after[state] if state == "wait" else [job_id for job_id, _ in after[state]]
    assert sorted(left, key=int) == [str(n) for n in range(0, 2_500, 7)]
    assert set(after) == {state, "events", *left}


def test_all_keys_of_a_job_are_removed(clean, queue, client, store, add_child, dump):
    store("p", "waiting-children")
    store("1", "wait", deid="d")
    add_child("p", "1")
    client.set(f"bull:{queue}:de:d", "1")
    client.rpush(f"bull:{queue}:1:logs", "row")
    clean("wait")
    assert set(dump(queue)) == {"meta", "events"}
