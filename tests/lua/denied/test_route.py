"""lua/route: with any command denied, the jobs of a route are in one list, and workers see each registered route."""

from contextlib import suppress

import pytest
import redis

from tests.lua.source import flatten

GPU = '{"capabilities":["gpu"]}'


@pytest.mark.parametrize(("in_wait", "version"), [(0, None), (2, None), (2, "7")])
def test_a_route_of_a_paused_queue_is_registered(scenarios, redis_url, client, new_queue, dump, in_wait, version):
    sha = client.script_load(flatten("route/register_route"))

    def prepared():
        base = new_queue()
        client.hset(f"bull:{base}:meta", "paused", "1")
        if version:
            client.set(f"bull:{base}:ext:rver", version)
        for number in range(in_wait):
            client.lpush(f"bull:{base}~cap.gpu:wait", f"w{number}")
        client.rpush(f"bull:{base}~cap.gpu:paused", "p0", "p1", "p2")
        return base

    def register(connection, base):
        keys = f"bull:{base}:meta", f"bull:{base}~cap.gpu:meta"
        return connection.evalsha(sha, 2, *keys, "cap.gpu", GPU, 500, '"base"')

    def left(base):
        route = dump(f"{base}~cap.gpu")
        for key in client.scan_iter(f"bull:{base}~*"):
            client.delete(key)
        route.pop("events", None)
        return {**dump(base), "ext:rver": "", "ext:rseen": "", "route": route}

    base = prepared()
    client.config_resetstat()
    register(client, base)
    used = {name.removeprefix("cmdstat_") for name in client.info("commandstats")} - {"evalsha", "config|resetstat"}
    whole = left(base)
    assert {"hset", "incr" if version else "set", "xadd"} <= used
    address = redis_url.replace("redis://", "redis://limited:limited@")
    with redis.Redis.from_url(address, decode_responses=True) as limited:
        for command in sorted(used - {"info", "config"}):
            base = prepared()
            scenarios.allow_all()
            scenarios.deny(command)
            with pytest.raises(redis.RedisError):
                register(limited, base)
            listed = [*client.lrange(f"bull:{base}~cap.gpu:wait", 0, -1)]
            listed += client.lrange(f"bull:{base}~cap.gpu:paused", 0, -1)
            assert len(listed) == len(set(listed)) == in_wait + 3, command
            if client.exists(f"bull:{base}:ext:routes"):
                assert client.get(f"bull:{base}:ext:rver") != version, command
            scenarios.allow_all()
            assert register(limited, base)[0] == 1
            assert left(base) == whole, command


def commands_of(client, call):
    """Return the commands that a call uses."""
    client.config_resetstat()
    call()
    used = {name.removeprefix("cmdstat_") for name in client.info("commandstats")}
    return sorted(used - {"evalsha", "config|resetstat", "info"})


@pytest.mark.parametrize("comes_back", [False, True])
def test_a_route_is_always_in_the_registry_or_in_the_list_of_retired_ones(
    scenarios, redis_url, client, new_queue, dump, comes_back
):
    """Whatever command is denied while a route retires, or while it comes back paused with a job."""
    retire, revive = (client.script_load(flatten(f"route/{name}")) for name in ("retire_routes", "revive_routes"))

    def prepared():
        base = new_queue()
        names = [f"bull:{base}:ext:{name}" for name in ("routes", "retired", "rseen")]
        client.hset(names[1] if comes_back else names[0], "cap.gpu", "5 {}" if comes_back else "{}")
        if comes_back:
            client.hset(f"bull:{base}:meta", "paused", "1")
            client.lpush(f"bull:{base}~cap.gpu:wait", "1", "2")
        else:
            client.hset(names[2], mapping={"cap.gpu": "5", "reg.eu": "5"})
            client.hset(f"bull:{base}~cap.gpu:meta", "version", "x")
        return base

    def call(connection, base):
        args = [10**12, "cap.gpu"] if comes_back else [100, "", 10**12]
        return connection.evalsha(revive if comes_back else retire, 1, f"bull:{base}:meta", *args)

    def left(base):
        route = {name: value for name, value in dump(f"{base}~cap.gpu").items() if name != "events"}
        for key in client.scan_iter(f"bull:{base}~*"):
            client.delete(key)
        return {**dump(base), "ext:rver": "", "route": route}

    base = prepared()
    used = commands_of(client, lambda: call(client, base))
    whole = left(base)
    assert whole["ext:routes" if comes_back else "ext:retired"]
    assert {"exists", "hset", "hdel", "set"} <= set(used)
    address = redis_url.replace("redis://", "redis://limited:limited@")
    with redis.Redis.from_url(address, decode_responses=True) as limited:
        for command in used:
            base = prepared()
            scenarios.allow_all()
            scenarios.deny(command)
            with suppress(redis.RedisError):  # a route that cannot be looked into stays where it is
                call(limited, base)
            names = client.hkeys(f"bull:{base}:ext:routes") + client.hkeys(f"bull:{base}:ext:retired")
            assert "cap.gpu" in names, command
            listed = client.lrange(f"bull:{base}~cap.gpu:wait", 0, -1)
            listed += client.lrange(f"bull:{base}~cap.gpu:paused", 0, -1)
            assert sorted(listed) == (["1", "2"] if comes_back else []), command
            if bool(client.hexists(f"bull:{base}:ext:routes", "cap.gpu")) == comes_back:
                assert client.exists(f"bull:{base}:ext:rver"), "workers must see it"
            scenarios.allow_all()
            call(limited, base)
            assert left(base) == whole, command
