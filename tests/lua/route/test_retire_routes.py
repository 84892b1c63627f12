"""lua/route/retire_routes.lua: a route that nobody uses frees its place in the registry."""

import pytest
import redis

from tests.lua.conftest import NOW
from tests.lua.route.conftest import MINUTE


def test_a_route_that_nobody_uses_leaves_its_place_to_others(routes, client):
    routes.register()
    version = int(routes.version)
    assert routes.retire() == 1
    assert (routes.live, client.hgetall(routes.retired)) == (
        [],
        {"cap.gpu": f'{NOW + 10 * MINUTE} {{"slug":"cap.gpu"}}'},
    )
    assert client.exists(routes.seen) == 0
    assert int(routes.version) == version + 1, "workers have to read the registry again"


def test_a_route_stays_for_ten_minutes_after_its_last_registration(routes):
    routes.register()
    routes.register(now=NOW + MINUTE)
    assert routes.retire(NOW + 11 * MINUTE - 1) == 0
    assert routes.retire(NOW + 11 * MINUTE) == 1


def test_a_route_stays_for_ten_minutes_after_its_last_event(routes):
    routes.register()
    routes.event(NOW + MINUTE)
    assert routes.retire(NOW + 11 * MINUTE - 1) == 0
    assert routes.retire(NOW + 11 * MINUTE) == 1


IN_USE = {
    "a waiting job": ("lpush", "wait", "1"),
    "a job of a paused queue": ("lpush", "paused", "1"),
    "a prioritized job": ("zadd", "prioritized", {"1": 1}),
    "a delayed job": ("zadd", "delayed", {"1": 1}),
    "an active job": ("lpush", "active", "1"),
    "a parent that waits": ("zadd", "waiting-children", {"1": 1}),
    "a scheduler": ("zadd", "repeat", {"daily": 1}),
    "a pause": ("hset", "meta", "paused", "1"),
    "a limit of jobs at a time": ("hset", "meta", "concurrency", "1"),
    "a rate limit": ("hset", "meta", "max", "1"),
    "the time of a rate limit": ("hset", "meta", "duration", "1"),
    "events of another type": ("set", "events", "x"),
    "settings of another type": ("set", "meta", "x"),
}


@pytest.mark.parametrize("what", IN_USE)
def test_a_route_stays_that_has(routes, client, what):
    command, name, *value = IN_USE[what]
    routes.register()
    routes.register("reg.eu")
    getattr(client, command)(routes.key(name), *value)
    version = routes.version
    assert routes.retire() == 1, "it does not hold up the other one"
    assert routes.live == ["cap.gpu"]
    assert routes.version != version
    client.delete(routes.key(name))
    assert routes.retire() == 1


def test_a_route_with_a_fallback_stays(routes):
    routes.register(fallback=("500", '"base"'))
    assert routes.retire(NOW + 10**10) == 0
    routes.register(fallback=("0", ""))
    assert routes.retire(NOW + 10**10) == 1


def test_finished_jobs_stay_and_without_any_the_keys_go_but_for_the_counter(routes, client, dump):
    finished = {"completed": {"1": 1}, "failed": {"2": 1}}
    for place, members in finished.items():
        routes.register(place)
        client.zadd(routes.key(place, place), members)
    routes.register()
    for slug in ("cap.gpu", *finished):
        client.set(routes.key("id", slug), 7)
        client.hset(routes.key("meta", slug), "version", "bullmq:5")
        client.hset(routes.key("metrics:completed", slug), "count", 7)
        client.lpush(routes.key("metrics:completed:data", slug), 7)
        client.zadd(routes.key("marker", slug), {"0": 0})
        routes.event(NOW, slug)
    before = {slug: dump(routes.of(slug)) for slug in finished}
    assert routes.retire() == 3
    assert {slug: dump(routes.of(slug)) for slug in finished} == before
    assert dump(routes.of()) == {"id": "7"}, "an id of a job must not come again if the route does"


def test_a_route_that_an_older_version_has_registered_gets_its_ten_minutes(routes, client):
    routes.register()
    client.delete(routes.seen)
    assert routes.retire(NOW) == 0
    assert client.hgetall(routes.seen) == {"cap.gpu": str(NOW)}
    assert routes.retire(NOW + 10 * MINUTE) == 1


def test_a_clock_that_was_set_back_does_not_keep_a_route_for_ever(routes):
    routes.register(now=NOW + 10**10)
    assert routes.retire(NOW) == 0
    assert routes.retire(NOW + 10 * MINUTE) == 1


def test_one_call_retires_as_many_as_it_is_asked_for(routes):
    for number in range(5):
        routes.register(f"srv.{number}")
    assert [routes.retire(most=2) for _ in range(4)] == [2, 2, 1, 0]
    assert len(routes.gone) == 5


def test_a_call_that_finds_nothing_writes_nothing(routes, dump):
    routes.register()
    before = dump(routes.base)
    assert routes.retire(NOW) == 0
    assert dump(routes.base) == before


def test_times_of_routes_that_are_not_registered_go(routes, client):
    routes.register()
    client.hset(routes.seen, "reg.eu", NOW)
    routes.retire(NOW)
    assert client.hkeys(routes.seen) == ["cap.gpu"]


def test_a_route_that_was_removed_retires_at_once_if_it_has_no_job(routes, client):
    routes.register(fallback=("500", '"base"'))
    routes.register("reg.eu")
    client.lpush(routes.key("wait"), "1")
    assert routes.retire(NOW, slug="cap.gpu") == 0
    client.delete(routes.key("wait"))
    assert routes.retire(NOW, slug="cap.gpu") == 1
    assert (routes.live, routes.gone) == (["reg.eu"], ["cap.gpu"])
    assert routes.retire(NOW, slug="cap.gpu") == 0


def test_the_time_is_that_of_the_server(routes, client, run, run_both):
    run_both("route/register_route", routes.base, routes.of(), "cap.gpu", "{}", "", "")
    seconds, micros = client.time()
    now = seconds * 1_000 + micros // 1_000
    assert abs(now - int(client.hget(routes.seen, "cap.gpu"))) < 60_000
    assert run("route/retire_routes", routes.base, 100, "", "") == 0
    client.hset(routes.seen, "cap.gpu", now - 10 * MINUTE)
    assert run("route/retire_routes", routes.base, 100, "", "") == 1


@pytest.mark.parametrize("name", ["registry", "seen", "retired"])
def test_a_registry_of_another_type_is_reported_and_the_route_is_left_in_it(routes, client, name):
    routes.register()
    if name != "registry":
        client.hset(routes.registry, "reg.eu", "{}")
    client.delete(getattr(routes, name))
    client.set(getattr(routes, name), "text")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        routes.retire()
    if name != "registry":
        assert "cap.gpu" in routes.live
