"""lua/manage/pause.lua: stopping the fetches of a queue."""

import pytest

SCRIPT = "manage/pause"


def test_an_empty_queue_is_marked_paused(run, queue, dump, events):
    assert run(SCRIPT, queue) == 0
    state = dump(queue)
    assert state.pop("events") == [[("event", "paused")]]
    assert state == {"meta": {"paused": "1"}}


def test_waiting_jobs_move_to_paused_and_no_marker_is_set(run, queue, client, dump):
    client.rpush(f"bull:{queue}:wait", "3", "2", "1")
    client.zadd(f"bull:{queue}:marker", {"0": 0, "1": 5})
    run(SCRIPT, queue)
    assert dump(queue)["paused"] == ["3", "2", "1"]
    assert "wait" not in dump(queue)
    assert "marker" not in dump(queue)


def test_every_call_is_announced(run, queue, events):
    run(SCRIPT, queue)
    run(SCRIPT, queue)
    assert events(queue) == ["paused", "paused"]


@pytest.mark.parametrize(("waiting", "paused"), [(3, 2), (2, 3), (1, 2500), (2500, 1), (1200, 2500), (1, 1)])
def test_jobs_that_version_6_left_in_wait_join_those_in_paused(run, queue, client, dump, waiting, paused):
    client.rpush(f"bull:{queue}:wait", *(f"w{n}" for n in range(waiting)))
    client.rpush(f"bull:{queue}:paused", *(f"p{n}" for n in range(paused)))
    run(SCRIPT, queue)
    assert dump(queue)["paused"] == [f"w{n}" for n in range(waiting)] + [f"p{n}" for n in range(paused)]
    assert "wait" not in dump(queue)
