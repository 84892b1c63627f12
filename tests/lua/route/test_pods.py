"""5,000 machines with names that never come again, one after the other: each has a route for a while.

Time is simulated. The scripts are those that producers, workers and the keeper of the routes call; the keeper is killed
at any of its commands.
"""

import random

import pytest
import redis

from tests.lua.route.conftest import MINUTE
from tests.lua.source import flatten

PODS = 5_000
#: So 200 of them come within the ten minutes after which a route retires.
STEP = 3_000
#: Only a producer in Node adds to this route, and knows nothing of the registry. Its workers need the registry to find
#: it.
OF_NODE = "cap.cuda+gpu"


@pytest.fixture
def keeper(client, redis_url, routes):
    """`keeper(script, *args)`: a call of the keeper that dies at a command, or before it, in three of four cases."""
    dice = random.Random(26)
    shas = {name: client.script_load(flatten(f"route/{name}")) for name in ("retire_routes", "revive_routes")}
    commands = ["hset", "hdel", "del", "incr", "exists", "hmget", "xrevrange", "hgetall", "xadd"]

    def allow_all_but(command):
        denied = [f"-{command}"] if command else []
        client.execute_command("ACL", "SETUSER", "keeper", "reset", "on", ">keeper", "~*", "&*", "+@all", *denied)

    allow_all_but(None)
    with redis.Redis.from_url(
        redis_url.replace("redis://", "redis://keeper:keeper@"), decode_responses=True
    ) as limited:

        def call(script, *args):
            fate = dice.choice(["killed before", "killed at a command", "killed at a command", "lives"])
            if fate == "killed before":
                return
            allow_all_but(None if fate == "lives" else dice.choice(commands))
            try:
                limited.evalsha(shas[script], 1, f"bull:{routes.base}:meta", *args)
            except redis.RedisError:
                assert fate != "lives"

        yield call
    client.execute_command("ACL", "DELUSER", "keeper")


def test_each_of_5000_machines_in_turn_gets_a_route_and_no_job_is_without_a_worker(
    routes, client, keeper, add, fetch, finish
):
    seconds, _ = client.time()
    begin = now = seconds * 1_000
    left, ran, added, oldest = set(), 0, 0, 0

    def use(slug, keep):
        """Run a job of the route."""
        [job] = fetch(routes.of(slug), now=now).jobs
        finish(routes.of(slug), (job, "1"), now=now, keep=keep)

    for pod in range(PODS):
        now = begin + pod * STEP
        slug = f"srv.pod-{pod}"
        if routes.register(slug, now) == [-1]:
            # As a producer does it: also if the keeper was killed each time.
            assert routes.retire(now) > 0, "there are 256 live routes"
            assert routes.register(slug, now)[0] == 1
        add(routes.of(slug), "{}", timestamp=now)
        if pod % 250 == 0:
            left.add(slug)  # this machine dies before it runs its job
        else:
            use(slug, keep=0 if pod % 2 else -1)
            ran += 1
        if (now - begin) // (11 * MINUTE) >= added:
            # The producer in Node: every 11 minutes, after the route has retired.
            if added == 0:
                routes.register(OF_NODE, now)
            add(routes.of(OF_NODE), "{}", timestamp=now)
            routes.event(now, OF_NODE)
            added += 1
            oldest = oldest or now
        if pod % 10 == 0:
            keeper("retire_routes", 100, "", now)
        if pod % 60 == 0:
            names = routes.gone
            for at in range(0, len(names), 100):
                keeper("revive_routes", now, *names[at : at + 100])
        if client.hexists(routes.registry, OF_NODE) and client.exists(routes.key("wait", OF_NODE)):
            use(OF_NODE, keep=0)
            routes.event(now, OF_NODE)
            ran, oldest = ran + 1, 0
        elif client.exists(routes.key("wait", OF_NODE)):
            assert now - oldest < 60 * MINUTE, "the route does not come back: three of four calls are killed"
    listed = set(routes.live)
    assert left <= listed, "a route with a job stays in the registry, where its fallback and the warning about it are"
    assert len(listed) <= 256
    assert added == PODS * STEP // (11 * MINUTE) + 1
    waiting = client.llen(routes.key("wait", OF_NODE))
    assert ran + waiting == PODS - len(left) + added
    with_jobs = {f"srv.pod-{pod}" for pod in range(0, PODS, 2)}
    assert with_jobs <= listed | set(routes.gone), "finished jobs can be found"
