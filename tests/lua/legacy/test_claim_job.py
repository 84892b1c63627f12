"""lua/legacy/claim_job.lua: a job leaves its place in a queue of Bull, and no worker of Bull can take it any more."""

import pytest

SCRIPT = "legacy/claim_job"


@pytest.fixture
def bull(client, queue):
    """Write the state of a queue of Bull 3, one job per place."""
    at = f"bull:{queue}:"
    for place, id in (("wait", "1"), ("paused", "2"), ("active", "3")):
        client.rpush(at + place, "other", id)
        client.hset(at + id, "data", "{}")
    for place, id in (("delayed", "4"), ("completed", "5"), ("failed", "6")):
        client.zadd(at + place, {id: 7 * 4096 + int(id)})
        client.hset(at + id, "data", "{}")
    client.zadd(at + "priority", {"1": 9})
    return at


@pytest.mark.parametrize(
    ("place", "id", "score"),
    [
        ("wait", "1", "9"),
        ("paused", "2", ""),
        ("active", "3", ""),
        ("delayed", "4", "28676"),
        ("completed", "5", "28677"),
    ],
)
def test_a_claimed_job_is_in_no_place_and_locked(run, client, queue, bull, place, id, score):
    assert run(SCRIPT, queue, place, id, "c1", 30_000) == [score, "data", "{}"]
    assert client.hgetall(bull + "ext:claim") == {id: f"c1 {place} {score}"}
    assert client.get(f"{bull}{id}:lock") == "c1"
    left = (
        client.lrange(bull + place, 0, -1)
        if place in {"wait", "paused", "active"}
        else client.zrange(bull + place, 0, -1)
    )
    assert id not in left
    assert client.zscore(bull + "priority", id) is None


def test_the_sets_of_bull_1_are_claimed_from(run, client, queue):
    client.sadd(f"bull:{queue}:failed", "1", "2")
    client.hset(f"bull:{queue}:1", "data", "{}")
    assert run(SCRIPT, queue, "failed", "1", "c1", 30_000) == ["", "data", "{}"]
    assert client.smembers(f"bull:{queue}:failed") == {"2"}


@pytest.mark.parametrize("place", ["wait", "delayed"])
def test_an_id_whose_key_is_no_job_leaves_its_place_only_if_it_is_to(run, client, queue, dump, place):
    at = f"bull:{queue}:"
    client.set(at + "7", "x")
    if place == "wait":
        client.rpush(at + place, "7")
    else:
        client.zadd(at + place, {"7": 5})
    before = dump(queue)
    assert run(SCRIPT, queue, place, "7", "c1", 30_000) == -1
    assert dump(queue) == before
    assert run(SCRIPT, queue, place, "7", "c1", 30_000, 1) == -1
    assert client.keys(at + "*") == [at + "7"]


def test_a_job_that_is_not_there_is_not_claimed(run, queue, bull, dump):
    before = dump(queue)
    assert run(SCRIPT, queue, "wait", "2", "c1", 30_000) is None
    assert dump(queue) == before


def test_an_active_job_with_a_lock_belongs_to_its_worker(run, client, queue, bull):
    client.set(bull + "3:lock", "worker")
    assert run(SCRIPT, queue, "active", "3", "c1", 30_000) is None


def test_the_same_claim_again_gets_the_job_again_and_another_one_does_not(run, queue, bull):
    first = run(SCRIPT, queue, "wait", "1", "c1", 30_000)
    assert run(SCRIPT, queue, "wait", "1", "c1", 30_000) == first
    assert run(SCRIPT, queue, "wait", "1", "c2", 30_000) is None


def test_an_id_without_a_job_leaves_the_list(run, client, queue):
    client.rpush(f"bull:{queue}:wait", "9")
    assert run(SCRIPT, queue, "wait", "9", "c1", 30_000) == [""]


def test_a_job_may_have_any_number_of_fields(run, client, queue, bull):
    client.hset(bull + "1", mapping={f"own {n}": n for n in range(10_000)})
    for _ in range(2):
        assert len(run(SCRIPT, queue, "wait", "1", "c1", 30_000)) == 1 + 2 * 10_001


def test_a_key_of_another_type_is_no_job(run, client, queue, bull, dump):
    client.delete(bull + "1")
    client.set(bull + "1", "x")
    before = dump(queue)
    assert run(SCRIPT, queue, "wait", "1", "c1", 30_000) == -1
    assert dump(queue) == before


def test_a_claimed_job_that_has_become_another_key_can_be_returned(run, client, queue, bull):
    run(SCRIPT, queue, "delayed", "4", "c1", 30_000)
    client.delete(bull + "4")
    client.set(bull + "4", "x")
    assert run(SCRIPT, queue, "delayed", "4", "c1", 30_000) == -1
    assert run("legacy/return_job", queue, "4", "c1") == 1
    assert client.zscore(bull + "delayed", "4") == 28676
