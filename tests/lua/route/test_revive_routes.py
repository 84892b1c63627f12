"""lua/route/revive_routes.lua: a retired route that is in use again comes back; one without any job is forgotten."""

import pytest

from tests.lua.conftest import NOW
from tests.lua.route.conftest import MINUTE

DAY = 24 * 60 * MINUTE
IN_USE = {
    "wait": ("lpush", "1"),
    "paused": ("lpush", "1"),
    "prioritized": ("zadd", {"1": 1}),
    "delayed": ("zadd", {"1": 1}),
    "active": ("lpush", "1"),
    "waiting-children": ("zadd", {"1": 1}),
    "repeat": ("zadd", {"daily": 1}),
    "meta": ("hset", "paused", "1"),
}


@pytest.fixture
def retired(routes):
    routes.register()
    assert routes.retire() == 1
    return routes


@pytest.mark.parametrize("name", IN_USE)
def test_a_retired_route_comes_back_that_has(retired, client, name):
    version = retired.version
    assert retired.revive("cap.gpu") == []
    assert (retired.live, retired.version) == ([], version)
    command, *value = IN_USE[name]
    getattr(client, command)(retired.key(name), *value)
    assert retired.revive("cap.gpu") == ["cap.gpu"]
    assert client.hgetall(retired.registry) == {"cap.gpu": '{"slug":"cap.gpu"}'}
    assert retired.gone == []
    assert retired.version != version, "workers have to read the registry again"
    assert client.hget(retired.seen, "cap.gpu") == str(NOW + 11 * MINUTE), "it stays for a while"


def test_a_route_with_new_jobs_comes_back_although_the_registry_is_full(retired, client):
    client.hset(retired.registry, mapping={f"srv.{n}": "{}" for n in range(256)})
    client.lpush(retired.key("wait"), "1")
    assert retired.revive("cap.gpu") == ["cap.gpu"]
    assert client.hlen(retired.registry) == 257


def test_a_route_that_comes_back_while_the_queue_is_paused_begins_paused(retired, client, dump):
    client.hset(f"bull:{retired.base}:meta", "paused", "1")
    client.lpush(retired.key("wait"), "1", "2")
    assert retired.revive("cap.gpu") == ["cap.gpu"]
    state = dump(retired.of())
    assert (state["paused"], state["meta"], state["events"]) == (["2", "1"], {"paused": "1"}, [[("event", "paused")]])


def test_a_producer_brings_a_retired_route_back_at_once(retired):
    version = retired.version
    assert retired.register() == [1, 1]
    assert (retired.live, retired.gone) == (["cap.gpu"], [])
    assert retired.version != version
    assert retired.revive("cap.gpu") == []


def test_a_route_whose_keys_cannot_be_read_stays_where_it_is(retired, client):
    client.set(retired.key("meta"), "text")
    assert retired.revive("cap.gpu") == []
    assert retired.gone == ["cap.gpu"]


def test_a_name_without_any_job_is_forgotten_after_eight_days_with_its_counter(retired, client, dump):
    client.set(retired.key("id"), 7)
    client.lpush(retired.key("ext:named"), "run-gone")
    over = NOW + 10 * MINUTE + 8 * DAY
    assert retired.revive("cap.gpu", now=over - 1) == []
    assert (retired.gone, dump(retired.of())) == (["cap.gpu"], {"id": "7", "ext:named": ["run-gone"]})
    assert retired.revive("cap.gpu", now=over) == []
    assert (retired.gone, dump(retired.of())) == ([], {})


@pytest.mark.parametrize("place", ["completed", "failed"])
def test_a_route_with_finished_jobs_is_not_forgotten(retired, client, place):
    client.zadd(retired.key(place), {"1": 1})
    retired.revive("cap.gpu", now=NOW + 400 * DAY)
    assert (retired.gone, client.exists(retired.key(place))) == (["cap.gpu"], 1)


def test_a_route_with_events_of_the_last_eight_days_is_not_forgotten(retired):
    retired.event(NOW + DAY)
    retired.revive("cap.gpu", now=NOW + 9 * DAY - 1)
    assert retired.gone == ["cap.gpu"]
    retired.revive("cap.gpu", now=NOW + 9 * DAY)
    assert retired.gone == []


def test_a_route_whose_finished_jobs_are_removed_later_loses_its_keys_too(routes, client, dump):
    routes.register()
    client.zadd(routes.key("completed"), {"7": 1})
    client.set(routes.key("id"), 7)
    assert routes.retire() == 1
    client.delete(routes.key("completed"))
    removed = NOW + DAY
    routes.event(removed)
    client.hset(routes.key("meta"), "opts.maxLenEvents", 10_000)
    routes.revive("cap.gpu", now=removed + 10 * MINUTE - 1)
    assert set(dump(routes.of())) == {"events", "id", "meta"}, "somebody may still read its events"
    routes.revive("cap.gpu", now=removed + 10 * MINUTE)
    assert dump(routes.of()) == {"id": "7"}
    assert routes.live == [] and routes.gone == ["cap.gpu"]
    routes.revive("cap.gpu", now=removed + 8 * DAY - 1)
    assert routes.gone == ["cap.gpu"]
    routes.revive("cap.gpu", now=removed + 8 * DAY)
    assert (routes.gone, dump(routes.of())) == ([], {})


def test_what_a_late_check_for_stalled_jobs_writes_to_a_retired_route_goes_and_delays_nothing(retired, client, dump):
    client.hset(retired.key("meta"), "opts.maxLenEvents", 10_000)
    retired.revive("cap.gpu", now=NOW + DAY)
    assert dump(retired.of()) == {}
    retired.revive("cap.gpu", now=NOW + 10 * MINUTE + 8 * DAY)
    assert retired.gone == []


def test_a_name_in_both_lists_and_an_entry_of_another_program_go_from_the_list_of_retired_routes(retired, client):
    retired.register("reg.eu")
    client.hset(retired.retired, mapping={"reg.eu": f"{NOW} {{}}", "odd": "text"})
    assert retired.revive("reg.eu", "odd", "unknown") == []
    assert (retired.live, retired.gone) == (["reg.eu"], ["cap.gpu"])
