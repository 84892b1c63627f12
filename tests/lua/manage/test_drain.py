"""lua/manage/drain.lua: removing the jobs that wait to run."""

import pytest

SCRIPT = "manage/drain"


@pytest.fixture
def drain(run, queue):
    """`drain(delayed)`: calls until nothing is left, and returns how many calls it took."""

    def all_calls(delayed=False):
        calls, more, kept = 0, 1, []
        while more:
            more, *kept = run(SCRIPT, queue, delayed, *kept)
            calls += 1
        return calls

    return all_calls


def test_an_empty_queue_stays_empty(run, queue, dump):
    assert run(SCRIPT, queue, True) == [0, 0, 0, 0, 0]
    assert dump(queue) == {}


@pytest.mark.parametrize("delayed", [True, False])
def test_waiting_jobs_are_removed_without_an_event_and_all_others_stay(drain, queue, client, store, dump, delayed):
    states = ("wait", "paused", "prioritized", "delayed", "active", "completed", "failed", "waiting-children")
    for state in states:
        store(f"in-{state}", state, 5)
        client.rpush(f"bull:{queue}:in-{state}:logs", "row")
    kept = states[4:] if delayed else states[3:]
    assert drain(delayed) == 1
    state = dump(queue)
    assert set(state) == {"meta", *kept, *(f"in-{name}" for name in kept), *(f"in-{name}:logs" for name in kept)}


@pytest.mark.parametrize("state", ["wait", "paused", "prioritized", "delayed"])
def test_the_next_job_of_a_scheduler_stays_and_older_ones_are_removed(drain, queue, client, store, dump, state):
    client.zadd(f"bull:{queue}:repeat", {"s": 20})
    for n, job_id in enumerate(("1", "repeat:s:20", "repeat:s:10", "repeat:", "2")):
        store(job_id, state, n, **({"rjk": "s"} if "s:" in job_id else {}))
    drain(True)
    after = dump(queue)
    assert set(after) == {"meta", "repeat", state, "repeat:s:20"}
    assert [member if isinstance(member, str) else member[0] for member in after[state]] == ["repeat:s:20"]


@pytest.mark.parametrize("state", ["wait", "prioritized"])
def test_thousands_of_jobs_are_removed_and_those_of_schedulers_keep_their_order(drain, queue, client, dump, state):
    sevenths = [n for n in range(2_500) if n % 7 == 0]
    with client.pipeline() as pipe:
        for n in range(2_500):
            job_id = f"repeat:s{n}:20" if n % 7 == 0 else str(n)
            pipe.hset(f"bull:{queue}:{job_id}", mapping={"name": "n", **({"rjk": f"s{n}"} if n % 7 == 0 else {})})
            pipe.zadd(f"bull:{queue}:repeat", {f"s{n}": 20})
            if state == "wait":
                pipe.rpush(f"bull:{queue}:wait", job_id)
            else:
                pipe.zadd(f"bull:{queue}:prioritized", {job_id: n})
        pipe.execute()
    assert drain() == 11
    after = dump(queue)
    left = after[state] if state == "wait" else [job_id for job_id, _ in after[state]]
    assert left == [f"repeat:s{n}:20" for n in sevenths]
    assert set(after) == {state, "repeat", *left}


@pytest.mark.parametrize(("owner", "kept"), [("1", False), ("2", True)])
def test_only_its_own_deduplication_key_goes(drain, queue, client, store, dump, owner, kept):
    store("1", "wait", deid="d")
    client.set(f"bull:{queue}:de:d", owner, px=60_000)
    drain()
    assert ("de:d" in dump(queue)) is kept


def test_a_parent_in_the_same_queue_is_removed_with_its_last_child(drain, queue, store, add_child, dump):
    store("grand", "waiting-children")
    store("p", "waiting-children")
    store("c", "wait")
    add_child("grand", "p")
    add_child("p", "c")
    drain()
    assert set(dump(queue)) == {"meta"}


def test_a_parent_in_another_queue_runs_next_there_without_an_event(drain, queue, new_queue, store, add_child, dump):
    other = new_queue()
    store("p", "waiting-children", queue=other)
    store("c", "wait")
    add_child("p", "c", parent_queue=other)
    drain()
    assert set(dump(queue)) == {"meta"}
    assert dump(other)["wait"] == ["p"]
    assert dump(other)["marker"] == [("0", 0)]
    assert "events" not in dump(other)


def test_an_id_without_a_hash_leaves_its_list(drain, queue, client, dump):
    client.rpush(f"bull:{queue}:wait", "1", "0:0")
    drain()
    assert dump(queue) == {}
