"""lua/inspect/get_state.lua: where is this job?"""

import pytest

SCRIPT = "inspect/get_state"


@pytest.mark.parametrize("job_id", ["1", "", "no such id"])
def test_an_id_in_no_state_is_unknown(run, queue, dump, job_id):
    assert run(SCRIPT, queue, job_id) == "unknown"
    assert dump(queue) == {}


@pytest.mark.parametrize("state", ["completed", "failed", "delayed", "prioritized", "waiting-children"])
def test_a_set_gives_its_name(run, client, queue, state):
    client.zadd(f"bull:{queue}:{state}", {"1": 5, "2": 6})
    assert run(SCRIPT, queue, "2") == state


@pytest.mark.parametrize(("list_name", "state"), [("active", "active"), ("wait", "waiting"), ("paused", "waiting")])
def test_a_list_gives_its_state_and_a_paused_job_is_waiting(run, client, queue, list_name, state):
    client.rpush(f"bull:{queue}:{list_name}", "1", "2")
    assert run(SCRIPT, queue, "1") == state
    assert run(SCRIPT, queue, "3") == "unknown"


def test_a_job_with_only_a_hash_is_unknown(run, client, queue):
    client.hset(f"bull:{queue}:1", mapping={"name": "n", "finishedOn": 1})
    assert run(SCRIPT, queue, "1") == "unknown"
