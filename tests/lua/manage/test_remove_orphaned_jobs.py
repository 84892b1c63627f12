"""lua/manage/remove_orphaned_jobs.lua: removing jobs that are in no state."""

import pytest

from .conftest import SETS

SCRIPT = "manage/remove_orphaned_jobs"


@pytest.mark.parametrize("state", [*(state for state in SETS if state != "repeat"), "wait", "paused", "active"])
def test_a_job_in_a_state_stays(run, queue, store, dump, state):
    store("1", state, 5)
    before = dump(queue)
    assert run(SCRIPT, queue, "1") == 0
    assert dump(queue) == before


def test_a_job_in_no_state_is_removed_with_all_its_keys(run, queue, client, store, dump):
    store("1", deid="d")
    store("repeat:s:20", rjk="s")
    for part in ("logs", "dependencies", "processed", "failed", "unsuccessful", "lock"):
        client.set(f"bull:{queue}:1:{part}", "x")
    client.set(f"bull:{queue}:de:d", "1")
    client.set(f"bull:{queue}:de:other", "2")
    assert run(SCRIPT, queue, "1", "repeat:s:20", "none") == 2
    assert set(dump(queue)) == {"meta", "de:other"}


@pytest.mark.parametrize("part", ["logs", "lock", "processed"])
def test_the_remaining_keys_of_a_job_are_removed(run, queue, client, dump, part):
    client.set(f"bull:{queue}:1:{part}", "x")
    assert run(SCRIPT, queue, "1") == 1
    assert dump(queue) == {}


def test_a_hash_written_after_the_removal_of_its_job_is_removed(run, queue, client, dump):
    client.hset(f"bull:{queue}:1", mapping={"ats": 1, "processedOn": 5})
    assert run(SCRIPT, queue, "1") == 1
    assert dump(queue) == {}


def test_other_keys_are_not_touched(run, queue, client, dump):
    client.hset(f"bull:{queue}:mine", "color", "red")
    client.set(f"bull:{queue}:text", "x")
    client.hset(f"bull:{queue}:repeat:s:1", mapping={"name": "s", "every": 5, "opts": "{}"})
    before = dump(queue)
    assert run(SCRIPT, queue, "mine", "text", "repeat:s:1") == 0
    assert dump(queue) == before


def test_a_parent_does_not_wait_for_an_orphan(run, queue, store, add_child, dump, events):
    store("p", "waiting-children")
    store("c")
    add_child("p", "c")
    assert run(SCRIPT, queue, "c") == 1
    assert dump(queue)["wait"] == ["p"]
    assert events(queue) == ["waiting p waiting-children"]
