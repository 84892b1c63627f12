"""lua/legacy/acknowledge_job.lua: a moved job leaves the queue of Bull."""

import pytest

SCRIPT = "legacy/acknowledge_job"


@pytest.fixture
def claimed(run, client, queue):
    at = f"bull:{queue}:"
    client.rpush(at + "wait", "1")
    client.hset(at + "1", mapping={"data": "{}", "deid": "d"})
    client.rpush(at + "1:logs", "row")
    run("legacy/claim_job", queue, "wait", "1", "c1", 30_000)
    return at


def test_nothing_of_the_job_is_left(run, queue, claimed, dump):
    assert run(SCRIPT, queue, "1", "c1", False) == 1
    assert dump(queue) == {}
    assert run(SCRIPT, queue, "1", "c1", False) == 0


def test_a_mirrored_job_keeps_its_hash(run, queue, claimed, dump):
    assert run(SCRIPT, queue, "1", "c1", True) == 1
    assert dump(queue) == {"1": {"data": "{}", "deid": "d"}, "1:logs": ["row"]}


def test_a_claim_of_another_one_stays(run, queue, claimed, dump):
    before = dump(queue)
    assert run(SCRIPT, queue, "1", "c2", False) == 0
    assert dump(queue) == before


def test_the_lock_of_a_worker_stays(run, client, queue, claimed):
    client.set(claimed + "1:lock", "worker")
    run(SCRIPT, queue, "1", "c1", False)
    assert client.get(claimed + "1:lock") == "worker"


@pytest.mark.parametrize(("holder", "ttl", "left"), [("1", None, False), ("1", 60_000, True), ("2", None, True)])
def test_a_debounce_key_ends_as_when_the_job_ends(run, client, queue, claimed, holder, ttl, left):
    client.set(claimed + "de:d", holder, px=ttl)
    run(SCRIPT, queue, "1", "c1", False)
    assert bool(client.exists(claimed + "de:d")) is left
