"""lua/finish/move_to_finished.lua: a worker leaves slots of the queue's global concurrency to others."""

import pytest

DONE = '"done"'
WAKES = {"marker": [("0", 0.0)]}


@pytest.fixture
def full(add, fetch, client, queue):
    """A queue at its global concurrency of 2: jobs 1 and 2 run, job 3 waits. The marker was taken."""
    client.hset(f"bull:{queue}:meta", "concurrency", 2)
    add(queue, *"abc")
    fetch(queue, 2)
    client.delete(f"bull:{queue}:marker")
    return queue


def marker(dump, queue):
    return {name: value for name, value in dump(queue).items() if name == "marker"}


def hold_of(reply):
    return reply[3]


def test_a_slot_that_is_left_wakes_a_worker_for_the_job_that_waits(full, finish, dump):
    assert finish(full, ("1", DONE), fetch=-1) == ({}, (0, 0, {}))
    assert marker(dump, full) == WAKES
    assert dump(full)["active"] == ["2"]


def test_a_slot_that_is_left_wakes_a_worker_for_a_prioritized_job(full, add, fetch, finish, client, dump):
    client.delete(f"bull:{full}:wait")
    add(full, "d", priority=1)
    finish(full, ("1", DONE), fetch=-1)
    assert marker(dump, full) == WAKES


def test_a_call_that_does_not_fetch_wakes_nobody_unless_it_is_asked_to(full, finish, dump):
    """As in BullMQ."""
    finish(full, ("1", DONE), fetch=0)
    assert marker(dump, full) == {}


def test_nobody_is_woken_if_no_job_waits(full, finish, client, dump):
    client.delete(f"bull:{full}:wait")
    finish(full, ("1", DONE), fetch=-1)
    assert marker(dump, full) == {}


@pytest.mark.parametrize("setting", [{"concurrency": 1}, {"paused": 1}])
def test_nobody_is_woken_if_the_queue_is_paused_or_still_full(full, finish, client, dump, setting):
    client.hset(f"bull:{full}:meta", mapping=setting)
    finish(full, ("1", DONE), fetch=-1)
    assert marker(dump, full) == {}


def test_nobody_is_woken_if_no_job_has_left(full, finish, dump):
    assert finish(full, ("3", DONE), fetch=-1)[0] == {0: -2}
    assert marker(dump, full) == {}


def test_the_marker_of_a_call_that_fetches_fewer_jobs_than_it_frees_wakes_a_worker(full, add, finish, dump):
    add(full, "d")
    _, fetched = finish(full, ("1", DONE), ("2", DONE), fetch=1)
    assert list(fetched.jobs) == ["3"]
    assert marker(dump, full) == WAKES
    assert (dump(full)["active"], dump(full)["wait"]) == (["3"], ["4"])


@pytest.mark.parametrize(("taken", "hold"), [(False, 8), (True, 9)])
def test_the_reply_says_that_the_queue_is_full_again_and_whether_the_last_marker_was_taken(
    full, add, finish, client, taken, hold
):
    add(full, "d")
    finish(full, ("1", DONE), fetch=1)
    if taken:
        client.zpopmin(f"bull:{full}:marker")
    assert hold_of(finish(full, ("2", DONE), fetch=1, raw=True)) == hold


def test_a_call_that_leaves_a_slot_free_does_not_say_that_the_queue_is_full(full, add, finish):
    add(full, "d")
    assert hold_of(finish(full, ("1", DONE), ("2", DONE), fetch=1, raw=True)) == 1
