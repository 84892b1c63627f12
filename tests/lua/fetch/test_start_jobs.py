"""lua/fetch/start_jobs.lua: recording starts that the fetch did not record."""

import pytest

SCRIPT = "fetch/start_jobs"
NOW = 1795225366409


def test_no_jobs_change_nothing(run, queue, dump):
    assert run(SCRIPT, queue, "w") == 0
    assert dump(queue) == {}


def test_a_started_job_has_its_number_its_time_and_its_worker(run, add, fetch, queue, dump):
    add(queue, "a", "b", "c")
    fetch(queue, 3, slots=0)
    assert run(SCRIPT, queue, "w", "1", "t", 1, NOW, "2", "t", 4, NOW + 1) == 2
    after = dump(queue)
    assert [after["1"][name] for name in ("ats", "processedOn", "pb")] == ["1", str(NOW), "w"]
    assert [after["2"][name] for name in ("ats", "processedOn", "pb")] == ["4", str(NOW + 1), "w"]
    assert "ats" not in after["3"]


def test_a_worker_without_a_name_leaves_none(run, add, fetch, queue, dump):
    add(queue, "a")
    fetch(queue, 1, slots=0)
    assert run(SCRIPT, queue, "", "1", "t", 1, NOW) == 1
    assert "pb" not in dump(queue)["1"]


def test_a_job_that_lost_its_lock_is_not_changed(run, add, fetch, client, queue, dump):
    add(queue, "a", "b")
    fetch(queue, 2, slots=0)
    client.delete(f"bull:{queue}:1:lock")
    before = dump(queue)
    assert run(SCRIPT, queue, "w", "1", "t", 1, NOW, "2", "other", 1, NOW) == 0
    assert dump(queue) == before


def test_a_job_whose_hash_is_gone_gets_none(run, add, fetch, client, queue, dump):
    add(queue, "a", "b")
    fetch(queue, 2, slots=0)
    client.delete(f"bull:{queue}:1")
    assert run(SCRIPT, queue, "w", "1", "t", 1, NOW, "2", "t", 1, NOW) == 1
    assert client.exists(f"bull:{queue}:1") == 0
    assert dump(queue)["2"]["ats"] == "1"


@pytest.mark.parametrize("damaged", ["1", "1:lock"])
def test_a_damaged_job_does_not_stop_the_stamps_of_the_others(run, add, fetch, client, queue, dump, damaged):
    add(queue, "a", "b")
    fetch(queue, 2, slots=0)
    client.delete(f"bull:{queue}:{damaged}")
    client.sadd(f"bull:{queue}:{damaged}", "something else")
    assert run(SCRIPT, queue, "w", "1", "t", 1, NOW, "2", "t", 1, NOW) == 1
    assert dump(queue)["2"]["ats"] == "1"
