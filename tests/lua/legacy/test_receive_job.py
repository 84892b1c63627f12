"""lua/legacy/receive_job.lua: a claimed job of Bull enters a queue, once per claim."""

import pytest

SCRIPT = "legacy/receive_job"
NOW = 1795225366409
FIELDS = ("name", "welcome", "data", "{}", "opts", "{}", "timestamp", NOW, "delay", 0, "priority", 0)


def receive(run, queue, id, place="wait", *, score="", claim=None, other="", mirror="", counted="", rows=()):
    return run(
        SCRIPT, queue, NOW, claim or f"c-{id}", id, other, place, score, mirror, counted, len(rows), *rows, *FIELDS
    )


def test_jobs_wait_in_the_order_in_which_they_come(run, queue, dump, events):
    assert receive(run, queue, "7") == "7"
    receive(run, queue, "custom")
    receive(run, queue, "3", "front", rows=("one", "two"))
    state = dump(queue)
    assert state["wait"] == ["custom", "7", "3"]
    assert state["7"] == {
        "name": "welcome",
        "data": "{}",
        "opts": "{}",
        "timestamp": str(NOW),
        "delay": "0",
        "priority": "0",
    }
    assert state["3:logs"] == ["one", "two"]
    assert state["id"] == "7", "the next id is free"
    assert state["marker"] == [("0", 0)]
    assert events(queue)[:2] == ["added 7 welcome", "waiting 7"]


def test_a_claim_adds_once(run, queue, dump):
    receive(run, queue, "1", claim="c")
    before = dump(queue)
    assert receive(run, queue, "1", claim="c", other="l-1") == 0
    assert dump(queue) == before


def test_a_claim_that_goes_back_to_bull_never_adds(run, queue, dump):
    assert receive(run, queue, "1", "back", claim="c") == -2
    before = dump(queue)
    assert list(before) == ["ext:mig"]
    assert receive(run, queue, "1", claim="c") == -2
    assert receive(run, queue, "1", "back", claim="c") == -2
    assert dump(queue) == before
    assert receive(run, queue, "1", claim="another") == "1"


def test_a_claim_that_has_added_does_not_go_back(run, queue, dump):
    receive(run, queue, "1", claim="c")
    before = dump(queue)
    assert receive(run, queue, "1", "back", claim="c") == 0
    assert dump(queue) == before


def test_a_numeric_id_that_is_taken_gets_another_one_and_a_custom_id_is_refused(run, client, queue, dump):
    client.hset(f"bull:{queue}:1", "name", "mine")
    assert receive(run, queue, "1", other="l-1") == "l-1"
    before = dump(queue)
    assert receive(run, queue, "1", claim="c2") == -1
    assert receive(run, queue, "1", claim="c3", other="l-1") == -1
    assert dump(queue) == before


def test_a_prioritized_job_enters_its_set(run, queue, dump):
    receive(run, queue, "1", "prioritized", score=5)
    assert dump(queue)["prioritized"] == [("1", 5 * 2**32 + 1)]


def test_a_delayed_job_keeps_its_score(run, queue, dump, events):
    score = (NOW + 5000) * 4096 + 17
    receive(run, queue, "1", "delayed", score=score)
    state = dump(queue)
    assert state["delayed"] == [("1", score)]
    assert state["marker"] == [("1", score / 4096)]
    assert events(queue) == ["added 1 welcome", f"delayed 1 {NOW + 5000}"]


@pytest.mark.parametrize("state", ["completed", "failed"])
def test_a_finished_job_is_history(run, queue, dump, state):
    receive(run, queue, "1", state, score=NOW, counted=f"bull:old {state}")
    after = dump(queue)
    assert after[state] == [("1", NOW)]
    assert after["ext:migration"] == {f"bull:old {state}": "1"}
    assert "events" not in after


def test_a_mirrored_job_is_remembered(run, queue, dump):
    receive(run, queue, "1", mirror='{"id":"1"}')
    assert dump(queue)["ext:mirror"] == {"1": '{"id":"1"}'}


def test_a_paused_queue_keeps_the_job_in_paused(run, client, queue, dump):
    client.hset(f"bull:{queue}:meta", "paused", 1)
    receive(run, queue, "1")
    state = dump(queue)
    assert state["paused"] == ["1"]
    assert "marker" not in state


def test_a_job_that_cannot_enter_leaves_nothing(run, client, queue, dump):
    client.set(f"bull:{queue}:ext:mirror", "strange")
    client.hset(f"bull:{queue}:meta", "opts.maxLenEvents", 10_000)
    client.set(f"bull:{queue}:id", 1)
    before = dump(queue)
    with pytest.raises(Exception, match="WRONGTYPE"):
        receive(run, queue, "1", mirror="m")
    assert dump(queue) == before


def test_a_job_may_have_any_number_of_fields_and_log_rows(run, queue, client):
    rows = [f"row {n}" for n in range(20_000)]
    own = [part for n in range(10_000) for part in (f"own {n}", n)]
    run(SCRIPT, queue, NOW, "c", "1", "", "wait", "", "", "", len(rows), *rows, *FIELDS, *own)
    assert client.lrange(f"bull:{queue}:1:logs", 0, -1) == rows
    assert client.hlen(f"bull:{queue}:1") == 10_006
    assert client.hget(f"bull:{queue}:1", "own 9999") == "9999"
