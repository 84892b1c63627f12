"""The registry of routes against a model: one target per name, and no more routes than fit."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from bullrush import Queue
from bullrush._core import CoreTarget
from bullrush.errors import RouteCollisionError, RouteLimitError
from bullrush.routing import check_target

#: Few words, so that targets often have one name: "a+b" is also the name of "a" and "b" together.
words = st.lists(st.sampled_from(["a", "b", "c", "a+b", "b+c", "a_b"]), max_size=3)
targets = st.fixed_dictionaries(
    {}, optional={"capabilities": words, "region": words, "mode": st.sampled_from(["all", "any"])}
).filter(lambda target: any(target.get(field) for field in ("capabilities", "region")))


@pytest.fixture
def fresh(redis: Redis, redis_url: str, queue_name: str) -> Iterator[Any]:
    """Return a function that makes an empty queue with a number of routes."""

    def make(routes: int) -> Queue:
        for key in redis.scan_iter(f"bull:{queue_name}[:~]*"):
            redis.delete(key)
        full = {f"srv.{n}": f'{{"server":"{n}"}}' for n in range(routes)}
        if full:
            redis.hset(f"bull:{queue_name}:ext:routes", mapping=full)
        return Queue(queue_name, url=redis_url)

    return make


@given(wanted=st.lists(targets, max_size=12), room=st.sampled_from([256, 4]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_name_belongs_to_the_first_target_and_the_last_one_that_fits_is_the_256th(
    fresh: Any, redis: Redis, wanted: list[dict[str, Any]], room: int
) -> None:
    routes: dict[str, str] = {}
    with fresh(256 - room) as queue:
        for target in wanted:
            checked = check_target("target", target)
            known = routes.get(checked.slug)
            if known == checked.canonical or (known is None and len(routes) < room):
                queue.route(target).wait_until_ready()
                routes[checked.slug] = checked.canonical
            else:
                with pytest.raises(RouteLimitError if known is None else RouteCollisionError):
                    queue.add("a", target=target)
        stored = redis.hgetall(f"bull:{queue.name}:ext:routes")
    found = {slug: json for slug, json in stored.items() if not slug.startswith("srv.")}
    assert found == routes
    assert all(CoreTarget.parse(slug, json).canonical == json for slug, json in found.items())
    assert list(redis.scan_iter(f"bull:{queue.name}~*:wait")) == []
