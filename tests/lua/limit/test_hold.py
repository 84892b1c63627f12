"""lua/limit/hold.lua: nobody takes a limit for a while."""

import pytest
import redis

REFUSED, RATE = 0, 1


def test_a_held_limit_gives_nothing_and_one_that_is_not_set_is_not_held(run, queue, take, set_limit):
    set_limit("a", rates=[(5, 1_000)])
    assert run("limit/hold", queue, 3_000, "a", "a", "b", "b") == 1
    code, wait, index, kind = take(("b", 1), ("a", 1))
    assert (code, index, kind) == (REFUSED, 1, RATE) and 2_000 < wait <= 3_000
    assert run("limit/hold", queue, 10, "a", "a") == 1
    assert take(("a", 1))[1] > 2_000, "a hold never becomes shorter"


@pytest.mark.parametrize("arguments", [(), ("",), (0, "a", "a"), (5, "a")])
def test_arguments_that_are_none_are_refused(run, queue, dump, arguments):
    with pytest.raises(redis.ResponseError, match="hold: malformed"):
        run("limit/hold", queue, *arguments)
    assert dump(queue) == {}
