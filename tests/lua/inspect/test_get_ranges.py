"""lua/inspect/get_ranges.lua: the ids in each state, by position."""

import pytest
import redis

SCRIPT = "inspect/get_ranges"


@pytest.fixture
def full(client, queue):
    """Seven waiting jobs, w1 next to run; three completed, c1 first; one active."""
    for n in range(1, 8):
        client.lpush(f"bull:{queue}:wait", f"w{n}")
    client.zadd(f"bull:{queue}:completed", {"c1": 1, "c2": 2, "c3": 3})
    client.lpush(f"bull:{queue}:active", "a1")
    return queue


def test_an_empty_queue_has_no_ids(run, queue, dump):
    assert run(SCRIPT, queue, 0, -1, True, "wait", "delayed") == []
    assert dump(queue) == {}


@pytest.mark.parametrize(
    ("start", "end", "ascending", "expected"),
    [
        (0, -1, True, "w1 w2 w3 w4 w5 w6 w7"),
        (0, -1, False, "w7 w6 w5 w4 w3 w2 w1"),
        (0, 0, True, "w1"),
        (1, 2, True, "w2 w3"),
        (1, 2, False, "w6 w5"),
        (5, 100, True, "w6 w7"),
        (-2, -1, True, "w6 w7"),
        (-1, -1, False, "w1"),
        (0, -2, True, "w1 w2 w3 w4 w5 w6"),
        (3, 1, True, ""),
        (50, 60, True, ""),
    ],
)
def test_a_list_ascends_from_the_job_that_runs_next(run, full, start, end, ascending, expected):
    assert run(SCRIPT, full, start, end, ascending, "wait") == expected.split()
    assert run(SCRIPT, full, start, end, ascending, "waiting") == expected.split()


@pytest.mark.parametrize(
    ("start", "end", "ascending", "expected"),
    [(0, -1, True, "c1 c2 c3"), (0, -1, False, "c3 c2 c1"), (0, 1, False, "c3 c2"), (-1, -1, True, "c3")],
)
def test_a_set_ascends_by_score(run, full, start, end, ascending, expected):
    assert run(SCRIPT, full, start, end, ascending, "completed") == expected.split()


def test_the_range_applies_to_each_type_and_every_id_comes_once(run, full):
    assert run(SCRIPT, full, 0, 1, True, "completed", "wait", "active", "waiting") == ["c1", "c2", "w1", "w2", "a1"]


def test_old_wake_up_markers_are_not_ids(run, client, full):
    client.rpush(f"bull:{full}:wait", "0:0")
    assert run(SCRIPT, full, 0, 1, True, "wait") == ["w1"]


def test_an_unknown_type_has_no_ids_even_if_a_key_has_its_name(run, client, full):
    client.hset(f"bull:{full}:meta", "paused", 1)
    assert run(SCRIPT, full, 0, -1, True, "meta", "nonsense", "active") == ["a1"]


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("state", ["wait", "completed"])
def test_a_malformed_position_is_an_error(run, full, ascending, state):
    with pytest.raises(redis.ResponseError):
        run(SCRIPT, full, "first", -1, ascending, state)
