"""lua/route/register_route.lua: workers find a route by the registry of its base."""

import pytest
import redis

from tests.lua.conftest import NOW

SCRIPT = "route/register_route"
GPU = '{"capabilities":["gpu"]}'


@pytest.fixture
def register(client, queue, new_queue, run_both):
    """`register(slug, target, after, fallback)`: runs the script on the queue and a route of it."""

    def call(slug="cap.gpu", target=GPU, after="", fallback="", now=NOW):
        return run_both(SCRIPT, queue, f"{queue}~{slug}", slug, target, after, fallback, now)

    yield call
    for key in client.scan_iter(f"*:{queue}~*", count=1000):
        client.delete(key)


def test_a_new_route_is_written_and_the_version_grows(register, queue, dump):
    assert register() == [1, 1]
    state = dump(queue)
    version = int(state.pop("ext:rver"))
    assert state == {"ext:routes": {"cap.gpu": GPU}, "ext:rseen": {"cap.gpu": str(NOW)}}
    assert register("reg.eu", '{"region":["eu"]}') == [1, 1]
    assert int(dump(queue)["ext:rver"]) == version + 1


def test_a_registry_that_is_made_again_has_another_version(register, queue, client):
    versions = set()
    for _ in range(10):
        register()
        versions.add(client.get(f"bull:{queue}:ext:rver"))
        client.delete(f"bull:{queue}:ext:rver", f"bull:{queue}:ext:routes")
    assert len(versions) == 10


@pytest.mark.parametrize("write", [("set", "text"), ("set", 2**63 - 1), ("sadd", "a member")])
def test_a_version_that_is_no_number_is_replaced(register, queue, client, dump, write):
    command, value = write
    getattr(client, command)(f"bull:{queue}:ext:rver", value)
    assert register() == [1, 1]
    state = dump(queue)
    assert state["ext:routes"] == {"cap.gpu": GPU}
    version = int(state["ext:rver"])
    assert register("reg.eu", '{"region":["eu"]}') == [1, 1]
    assert int(dump(queue)["ext:rver"]) == version + 1


def test_a_known_route_changes_nothing_but_the_time_when_it_was_seen(register, queue, dump):
    register()
    before = dump(queue)
    assert register(now=NOW + 1) == [1, 0]
    assert dump(queue) == {**before, "ext:rseen": {"cap.gpu": str(NOW + 1)}}


def test_a_time_that_cannot_be_written_does_not_stop_the_caller(register, queue, client):
    register()
    client.delete(f"bull:{queue}:ext:rseen")
    client.set(f"bull:{queue}:ext:rseen", "text")
    assert register() == [1, 0]


def test_another_target_with_the_same_slug_is_refused(register, queue, dump):
    register()
    before = dump(queue)
    for other in ('{"capabilities":["gpu","x"]}', '{"capabilities":["gpu"],"region":["eu"]}', "{}"):
        assert register(target=other) == [0, GPU]
    assert dump(queue) == before


def test_a_queue_has_256_routes(register, queue, client, dump):
    client.hset(f"bull:{queue}:ext:routes", mapping={f"cap.{n}": f'{{"capabilities":["{n}"]}}' for n in range(255)})
    assert register() == [1, 1]
    before = dump(queue)
    assert register("reg.eu", '{"region":["eu"]}') == [-1]
    assert dump(queue) == before
    assert register() == [1, 0]
    assert register("cap.7", '{"capabilities":["7"]}') == [1, 0]
    assert client.hlen(f"bull:{queue}:ext:routes") == 256


def test_a_fallback_is_set_kept_changed_and_removed(register, queue, client):
    def entry():
        version = int(client.get(f"bull:{queue}:ext:rver"))
        return client.hget(f"bull:{queue}:ext:routes", "cap.gpu"), version - first + 1

    with_base = GPU[:-1] + ',"fallback":"base","fallback_after":500}'
    register(after="500", fallback='"base"')
    first = int(client.get(f"bull:{queue}:ext:rver"))
    assert entry() == (with_base, 1)
    register()
    assert entry() == (with_base, 1)
    register(after="900", fallback='{"region":["eu"]}')
    assert entry() == (GPU[:-1] + ',"fallback":{"region":["eu"]},"fallback_after":900}', 2)
    assert register(target='{"capabilities":["gpu"],"fallback":["eu"]}') == [0, entry()[0]]
    register(after="0")
    assert entry() == (GPU, 3)
    register(after="0")
    assert entry() == (GPU, 3)


def test_a_route_of_a_paused_queue_is_paused_with_the_jobs_it_holds(register, queue, client, dump, events):
    client.hset(f"bull:{queue}:meta", "paused", "1")
    client.lpush(f"bull:{queue}~cap.gpu:wait", "1", "2")
    client.zadd(f"bull:{queue}~cap.gpu:marker", {"0": 0})
    register()
    state = dump(f"{queue}~cap.gpu")
    assert state == {"meta": {"paused": "1"}, "paused": ["2", "1"], "events": [[("event", "paused")]]}
    client.hdel(f"bull:{queue}~cap.gpu:meta", "paused")
    register()
    assert "paused" not in dump(f"{queue}~cap.gpu").get("meta", {}), "only a new route is paused"


def test_a_damaged_registry_is_reported_before_anything_is_written(register, queue, client, dump):
    client.set(f"bull:{queue}:ext:routes", "text")
    client.hset(f"bull:{queue}:meta", "paused", "1")
    before = dump(queue)
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        register()
    assert dump(queue) == before
    assert dump(f"{queue}~cap.gpu") == {}


def test_a_route_follows_the_version_of_its_base_at_each_registration(register, queue, client):
    route = f"bull:{queue}~cap.gpu:meta"
    register()
    assert not client.exists(route)
    client.hset(f"bull:{queue}:meta", "version", "bullmq:6.7.0")
    register()
    assert client.hgetall(route) == {"version": "bullmq:6.7.0"}
    client.hset(f"bull:{queue}:meta", mapping={"version": "bullmq:5.81.5", "ext:compat": "6"})
    register()
    assert client.hgetall(route) == {"version": "bullmq:5.81.5", "ext:compat": "6"}
    client.hdel(f"bull:{queue}:meta", "ext:compat")
    register()
    assert client.hgetall(route) == {"version": "bullmq:5.81.5"}


@pytest.mark.parametrize("version", ["bullmq:5.62.0", "bullmq:6.7.0"])
def test_a_new_route_of_a_paused_queue_is_paused_as_its_version_does_it(register, queue, client, version):
    client.hset(f"bull:{queue}:meta", mapping={"version": version, "paused": 1})
    client.rpush(f"bull:{queue}~cap.gpu:wait", "1")
    register()
    assert client.hget(f"bull:{queue}~cap.gpu:meta", "paused") == "1"
    of_6 = version == "bullmq:6.7.0"
    assert client.exists(f"bull:{queue}~cap.gpu:wait") == of_6
    assert client.exists(f"bull:{queue}~cap.gpu:paused") == (not of_6)
