"""lua/hint/consume_wake_hint.lua: whether a worker may wake."""

import pytest
import redis

SCRIPT = "hint/consume_wake_hint"


def test_five_of_six_consumers_are_granted_two_and_three(run, queue):
    run("hint/provide_wake_hint", queue, 2)
    run("hint/provide_wake_hint", queue, 3)
    assert [run(SCRIPT, queue, 1) for _ in range(6)] == [1, 1, 1, 1, 1, 0]


def test_a_worker_with_several_free_slots_takes_what_is_left(run, queue, budget):
    budget(5)
    assert [run(SCRIPT, queue, 3) for _ in range(3)] == [3, 2, 0]
    assert budget() == "0"


def test_the_remaining_time_does_not_change(run, queue, budget, lifetime):
    budget(5)
    run(SCRIPT, queue, 1)
    assert 40_000 < lifetime() <= 50_000


def test_without_a_number_one_is_granted(run, queue, dump):
    assert [run(SCRIPT, queue, 7) for _ in range(2)] == [1, 1]
    assert dump(queue) == {}


@pytest.mark.parametrize("stored", ["text", "", "nan", "12 monkeys"])
def test_no_number_grants_one_and_stays(run, queue, budget, stored):
    budget(stored)
    assert run(SCRIPT, queue, 7) == 1
    assert budget() == stored


@pytest.mark.parametrize("stored", ["0", "-1", "-9e300", "0.5", "-inf"])
def test_nothing_left_grants_none(run, queue, budget, stored):
    budget(stored)
    assert run(SCRIPT, queue, 7) == 0
    assert budget() == stored


@pytest.mark.parametrize("stored", ["9" * 40, "1e300", "inf"])
def test_a_huge_number_counts_as_the_most_there_can_be(run, queue, budget, stored):
    budget(stored)
    assert run(SCRIPT, queue, 24) == 24
    assert budget() == "1000"


def test_a_key_of_another_type_grants_one(run, client, queue):
    client.hset(f"bull:{queue}:ext:hint", "theirs", 1)
    assert run(SCRIPT, queue, 7) == 1


@pytest.mark.parametrize("want", ["", "0", "-1", "many"])
def test_a_want_that_is_none_is_refused(run, queue, want):
    with pytest.raises(redis.ResponseError, match="consume_wake_hint: malformed"):
        run(SCRIPT, queue, want)
