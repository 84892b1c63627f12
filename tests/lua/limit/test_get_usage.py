"""lua/limit/get_usage.lua: how much of limits is used."""

import pytest
import redis

from tests.lua.conftest import NOW


def test_usage_is_read(run, queue, take, set_limit):
    set_limit("b", concurrency=3, rates=[(5, 1_000), (50, 60_000)])
    take(("b", 2), grant="x")
    text, held, holders, *used = run("limit/get_usage", queue, NOW + 2_000, "b", "b", "c", "c")[0]
    assert (held, holders, used) == (0, 1, [0, 2]) and '"concurrency": 3' in text
    assert run("limit/get_usage", queue, NOW, "c", "c") == [["", 0, 0]]


@pytest.mark.parametrize("arguments", [(), ("", "a")])
def test_arguments_that_are_none_are_refused(run, queue, arguments):
    with pytest.raises(redis.ResponseError, match="get_usage: malformed"):
        run("limit/get_usage", queue, *arguments)
