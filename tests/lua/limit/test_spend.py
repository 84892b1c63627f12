"""lua/limit/spend.lua: what was not used is given back, what was used beyond is a debt."""

import pytest
import redis

from tests.lua.conftest import NOW


@pytest.fixture(autouse=True)
def ten_a_second(set_limit):
    set_limit("a", rates=[(10, 1_000)])


def test_what_was_not_used_is_given_back(take, spend):
    take(("a", 10), grant="x")
    assert take(("a", 1))[0] == 0
    assert spend("x", ("a", 4), at=100) == 1
    assert [take(("a", cost), at=100)[0] for cost in (7, 6, 1)] == [0, 1, 0]


def test_what_was_used_beyond_counts_from_then_on(take, spend):
    take(("a", 1), grant="x")
    assert spend("x", ("a", 25), at=500) == 1
    assert take(("a", 1), at=1_400) == [0, 101, 0, 1]
    assert take(("a", 1), at=1_501)[0] == 1


def test_a_grant_is_settled_once(take, spend):
    take(("a", 10), grant="x")
    assert [spend("x", ("a", 5)), spend("x", ("a", 5)), spend("y", ("a", 5))] == [1, 0, 0]
    assert [take(("a", 5))[0], take(("a", 1))[0]] == [1, 0]


def test_a_grant_that_has_left_the_window_gives_nothing_back(take, spend):
    take(("a", 10), grant="x")
    take(("a", 10), at=1_001)
    assert spend("x", ("a", 0), at=1_100) == 1
    assert take(("a", 1), at=1_100)[0] == 0


def test_limits_with_slots_of_their_windows_get_it_back_too(take, spend, set_limit):
    set_limit("b", rates=[(20_000, 60_000)])
    take(("b", 20_000), grant="x", at=7)
    assert spend("x", ("b", 5_000), at=1_000) == 1
    assert [take(("b", 15_000), at=1_000)[0], take(("b", 1), at=1_000)[0]] == [1, 0]


@pytest.mark.parametrize("arguments", [("",), ("", ""), ("", "g", "a"), ("", "g", "a", "a")])
def test_arguments_that_are_none_are_refused(run, queue, arguments):
    with pytest.raises(redis.ResponseError, match="spend: malformed"):
        run("limit/spend", queue, *arguments)


@pytest.mark.parametrize("cost", ["", "-1", "1.5", "many"])
def test_a_cost_that_is_no_whole_number_is_refused(run, queue, take, cost):
    take(("a", 10), grant="x")
    with pytest.raises(redis.ResponseError, match="spend: malformed cost"):
        run("limit/spend", queue, NOW, "x", "a", "a", cost)
