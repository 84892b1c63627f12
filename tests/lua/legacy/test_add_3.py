"""lua/legacy/add_3.lua: adding a job to a queue of Bull 3.x or 4.x."""

import pytest

SCRIPT = "legacy/add_3"
NOW = 1795225366409


@pytest.fixture
def add(run, queue):
    """Adds a job and returns the reply."""

    def add(*, due=0, lifo=False, priority=0, job_id="", debounce="", ttl=""):
        times = [NOW, max(due - NOW, 0), due]
        return run(SCRIPT, queue, "welcome", "{}", "{}", *times, lifo, priority, job_id, "token", debounce, ttl)

    return add


def test_a_priority_wins_over_lifo(add, queue, dump):
    for priority in (0, 3, 3, 1):
        add(priority=priority)
    add(priority=5, lifo=True)
    state = dump(queue)
    assert state["wait"] == ["1", "5", "3", "2", "4"]
    assert state["priority"] == [("4", 1), ("2", 3), ("3", 3), ("5", 5)]
    assert state["2"]["priority"] == "3"


def test_the_place_is_that_of_the_number_of_jobs_ahead(add, queue, dump):
    for priority in (2, 1, 0, 2):
        add(priority=priority)
    assert dump(queue)["wait"] == ["3", "4", "1", "2"]


def test_a_delayed_job_has_a_score_of_its_time_and_id(add, queue, dump):
    assert add(due=NOW + 5000, priority=3) == ["1", 1]
    state = dump(queue)
    assert state["delayed"] == [("1", (NOW + 5000) * 4096 + 1)]
    assert "priority" not in state


def test_a_custom_id_that_exists_adds_nothing(add, queue, dump):
    assert add(job_id="a") == ["a", 1]
    before = dump(queue)
    assert add(job_id="a", priority=1) == ["a", 0]
    assert dump(queue) == {**before, "id": "2"}


def test_a_debounce_id_is_held_until_its_time_is_over_or_its_job_ends(add, queue, client, dump):
    assert add(debounce="a", ttl=60_000) == ["1", 1] and add(debounce="b") == ["2", 1]
    assert 50_000 < client.pttl(f"bull:{queue}:de:a") <= 60_000 and client.pttl(f"bull:{queue}:de:b") == -1
    with client.pubsub(ignore_subscribe_messages=True) as heard:
        heard.subscribe(f"bull:{queue}:debounced@token")
        assert add(debounce="a") == ["1", 0]
        message = next(filter(None, iter(lambda: heard.get_message(timeout=5), 0)))
        assert message["data"] == "1"
    state = dump(queue)
    assert state["wait"] == ["2", "1"] and state["1"]["deid"] == "a" and "3" not in state
