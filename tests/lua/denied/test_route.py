"""lua/route: with any command denied, the jobs of a route are in one list, and workers do not miss a registered route."""

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
        return {**dump(base), "ext:rver": "", "route": route}

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
            assert register(limited, base) == [1]
            assert left(base) == whole, command
