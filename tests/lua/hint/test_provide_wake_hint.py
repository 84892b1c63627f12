"""lua/hint/provide_wake_hint.lua: how many workers may wake."""

import pytest
import redis

SCRIPT = "hint/provide_wake_hint"


def test_producers_add_up(run, queue, budget):
    assert [run(SCRIPT, queue, 3), run(SCRIPT, queue, 3)] == [3, 6]
    assert budget() == "6"


def test_each_call_lets_it_live_for_a_minute(run, queue, budget, lifetime):
    budget(5)
    run(SCRIPT, queue, 1)
    assert 55_000 < lifetime() <= 60_000


@pytest.mark.parametrize("counts", [(1024, 1), (1000, 1000), (10**30,)])
def test_it_is_at_most_1024(run, queue, counts):
    assert [run(SCRIPT, queue, str(count)) for count in counts][-1] == 1024


@pytest.mark.parametrize(
    ("stored", "then"),
    [("text", 2), ("", 2), ("-5", 2), ("-1e300", 2), ("nan", 2), ("2.9", 4), ("9" * 30, 1024), ("inf", 1024)],
)
def test_what_others_wrote_is_read_as_well_as_possible(run, queue, budget, stored, then):
    budget(stored)
    assert run(SCRIPT, queue, 2) == then
    assert budget() == str(then)


def test_a_key_of_another_type_is_not_replaced(run, client, queue):
    client.lpush(f"bull:{queue}:ext:hint", "theirs")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        run(SCRIPT, queue, 1)
    assert client.lrange(f"bull:{queue}:ext:hint", 0, -1) == ["theirs"]


@pytest.mark.parametrize("count", ["", "0", "-1", "many"])
def test_a_count_that_is_none_is_refused(run, queue, dump, count):
    with pytest.raises(redis.ResponseError, match="provide_wake_hint: malformed"):
        run(SCRIPT, queue, count)
    assert dump(queue) == {}
