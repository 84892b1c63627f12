"""A call that is stopped at a command, since its user lacks the right, gives nobody more than a limit allows."""

import json

import pytest
import redis

from tests.lua.conftest import NOW

COMMANDS = ["get", "hmget", "hget", "pttl", "zcard", "zadd", "pexpire", "hincrby", "rpush", "hset", "set"]
MOST = 5


@pytest.fixture
def denied(client, redis_url):
    """`denied(command)`: a client whose user may do everything but this command."""
    clients = []

    def of(command):
        client.execute_command("ACL", "SETUSER", "few", "reset", "on", ">few", "~*", "&*", "+@all", f"-{command}")
        url = redis_url.replace("redis://", "redis://few:few@")
        clients.append(redis.Redis.from_url(url, decode_responses=True))
        return clients[-1]

    yield of
    for one in clients:
        one.close()
    client.execute_command("ACL", "DELUSER", "few")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_take_that_stops_in_between_counts_too_much_never_too_little(
    runner, run, queue, client, denied, set_limit, command
):
    set_limit("a", concurrency=MOST, rates=[(MOST, 60_000)])
    stopped = runner(denied(command))
    granted = 0
    for number in range(3):
        with pytest.raises(redis.ResponseError):
            stopped("limit/take", queue, NOW, f"x{number}", 60_000, "a", "a", 1)
        granted += client.exists(f"bull:{queue}:ext:grant-x{number}")
    for number in range(2 * MOST):
        granted += run("limit/take", queue, NOW + 1, f"y{number}", 60_000, "a", "a", 1)[0]
    assert granted <= MOST
    assert run("limit/take", queue, NOW + 130_000, "z", 60_000, "a", "a", 1)[0] == 1 or granted == MOST, json.dumps(
        client.hgetall(f"bull:{queue}:ext:limit-a:60000")
    )


def test_what_a_stopped_take_has_counted_is_waited_for_until_the_window_is_over(
    runner, run, queue, denied, take, set_limit
):
    set_limit("a", rates=[(MOST, 60_000)])
    take(("a", 1))
    with pytest.raises(redis.ResponseError):
        runner(denied("rpush"))("limit/take", queue, NOW + 10, "x", 60_000, "a", "a", MOST - 1)
    assert take(("a", MOST), at=20) == [0, 59_981, 0, 1]
    assert take(("a", MOST), at=60_001)[0] == 1


@pytest.mark.parametrize("command", ["del", "zrem", "hget", "hincrby", "hmget"])
def test_a_settlement_that_stops_in_between_gives_back_too_little_never_too_much(
    runner, run, queue, denied, take, set_limit, command
):
    set_limit("a", concurrency=9 * MOST, rates=[(MOST, 60_000)])
    take(("a", MOST), grant="x")
    with pytest.raises(redis.ResponseError):
        runner(denied(command))("limit/spend", queue, NOW, "x", "a", "a", 0)
    run("limit/spend", queue, NOW, "x", "a", "a", 0)
    assert sum(take(("a", 1))[0] for _ in range(2 * MOST)) <= MOST
