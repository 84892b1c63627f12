"""lua/legacy/return_job.lua: a claimed job goes back to where it was."""

import pytest

SCRIPT = "legacy/return_job"
LISTS = ("wait", "paused", "active")


@pytest.mark.parametrize("place", ["wait", "paused", "delayed", "active", "completed", "failed"])
def test_a_job_goes_back_to_its_place(run, client, queue, dump, place):
    at = f"bull:{queue}:"
    client.hset(at + "1", "data", "{}")
    if place == "paused":
        client.set(at + "meta-paused", 1)
    if place in LISTS:
        client.rpush(at + place, "1")
    else:
        client.zadd(at + place, {"1": 28673})
    if place == "wait":
        client.zadd(at + "priority", {"1": 9})
    before = dump(queue)
    run("legacy/claim_job", queue, place, "1", "c1", 30_000)
    assert run(SCRIPT, queue, "1", "c1") == 1
    assert dump(queue) == before
    assert run(SCRIPT, queue, "1", "c1") == 0
    assert dump(queue) == before


def test_a_job_of_a_set_goes_back_to_the_set(run, client, queue, dump):
    client.sadd(f"bull:{queue}:failed", "1")
    before = dump(queue)
    run("legacy/claim_job", queue, "failed", "1", "c1", 30_000)
    run(SCRIPT, queue, "1", "c1")
    assert dump(queue) == before


def test_a_waiting_job_goes_back_to_where_bull_keeps_it_now(run, client, queue, dump):
    client.rpush(f"bull:{queue}:wait", "2", "1")
    run("legacy/claim_job", queue, "wait", "1", "c1", 30_000)
    client.rename(f"bull:{queue}:wait", f"bull:{queue}:paused")
    client.set(f"bull:{queue}:meta-paused", 1)
    run(SCRIPT, queue, "1", "c1")
    assert dump(queue)["paused"] == ["2", "1"]


def test_the_claim_of_another_one_stays(run, client, queue, dump):
    client.rpush(f"bull:{queue}:wait", "1")
    run("legacy/claim_job", queue, "wait", "1", "c1", 30_000)
    before = dump(queue)
    assert run(SCRIPT, queue, "1", "c2") == 0
    assert dump(queue) == before
