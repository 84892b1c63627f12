"""Real BullMQ 5.62.0, 6.x and bullrush work together while each kind of fault happens once: every job ends as it must.

``make fleet`` runs it; ``make test`` has `test_mixed.py`, in which processes are killed.
"""

import os
import time

import pytest
from redis import Redis

from bullrush import Queue
from bullrush.embedded import EmbeddedRedis
from tests.faults.proxy import Proxy
from tests.interop.sides.node_process import NodeProcess
from tests.interop.sides.results import snaked
from tests.interop.sides.their_queue import TheirQueue

from .faults import ACL_RULES, PASSWORD, USER, FleetFaults
from .final_state import FinalState
from .fleet import ALL_EVENTS, KINDS, NODE_KINDS, Fleet
from .producer import FleetProducer

JOBS = int(os.environ.get("FLEET_JOBS", "0"))
QUEUES = ["fleet", "fleet-b"]
LISTS = ("wait", "active", "paused")
UNDONE = (*LISTS, "delayed", "prioritized", "waiting-children")


@pytest.fixture
def server(tmp_path):
    users = tmp_path / "users.acl"
    users.write_text(ACL_RULES)
    args = ["--appendfsync", "always", "--aclfile", str(users)]
    with EmbeddedRedis(tmp_path / "data", port=0, password="", args=args) as server:
        yield server


@pytest.fixture
def proxy(server):
    with Proxy(port_of(server.url)) as relay:
        yield relay


@pytest.fixture
def redis(server):
    with Redis.from_url(server.url, decode_responses=True) as client:
        yield client


@pytest.fixture
def ours(server):
    queues = [Queue(name, url=server.url, **snaked(ALL_EVENTS)) for name in QUEUES]
    yield queues
    for queue in queues:
        queue.close()


@pytest.fixture
def theirs(server):
    nodes = [NodeProcess(library, server.url) for library in NODE_KINDS]
    queues = [TheirQueue(node, queue, ALL_EVENTS) for node in nodes for queue in QUEUES]
    yield queues
    for node in {queue.node for queue in queues}:
        node.close()


@pytest.fixture
def fleet(server, proxy, tmp_path):
    """One kind of each side connects through the proxy; our workers are another Redis user."""

    def as_user(url: str) -> str:
        return url.replace("redis://", f"redis://{USER}:{PASSWORD}@")

    urls = {"bullmq6": proxy.url, "sync": as_user(server.url), "aio": as_user(proxy.url)}
    fleet = Fleet(server.url, QUEUES, tmp_path, urls)
    yield fleet
    fleet.end()


def port_of(url: str) -> int:
    return int(url.rsplit(":", 1)[1].split("/")[0])


def children_of(redis: Redis, job: str) -> list[object]:
    """Return the children keys of a job."""
    return [redis.smembers(f"{job}:dependencies"), redis.hgetall(f"{job}:processed"), redis.hgetall(f"{job}:failed")]


def undone(redis: Redis) -> list[object]:
    """Return some of the jobs that have no outcome yet, with their places and hashes."""
    found: list[object] = []
    for base in (f"bull:{name}:" for name in QUEUES):
        for place in UNDONE:
            ids = redis.lrange(base + place, 0, 4) if place in LISTS else redis.zrange(base + place, 0, 4)
            found += [(f"{base}{place} {id}", redis.hgetall(base + id), children_of(redis, base + id)) for id in ids]
    return found


@pytest.mark.faults
@pytest.mark.skipif(not JOBS, reason="make fleet runs it")
@pytest.mark.timeout(400)
@pytest.mark.parametrize(("kinds", "share"), [("faults", 4), ("refusals", 1)])
def test_every_job_has_one_outcome_whatever_happens(fleet, server, proxy, redis, ours, theirs, kinds, share):
    for queue in (*ours, *theirs):
        queue.wait_until_ready() if isinstance(queue, Queue) else queue.call("count")
    for kind in KINDS * 2:
        fleet.start(kind)
    fleet_faults = FleetFaults(fleet, server, redis, proxy, ours[0], theirs)
    producer = FleetProducer(JOBS * share // 5, ours, theirs, QUEUES)
    faults = getattr(fleet_faults, kinds)()
    made = 0
    for progress in producer.run():
        while made < progress * len(faults):
            began = time.monotonic()
            faults[made]()
            print(f"{faults[made].__name__}: {time.monotonic() - began:.1f} s")
            made += 1
    assert made == len(faults)
    deadline = time.monotonic() + 60
    while left := undone(redis):
        fleet.replace_crashed()
        assert time.monotonic() < deadline, f"{left}\n{fleet.said()}"
        time.sleep(0.1)
    fleet.stop()
    FinalState(redis, QUEUES).check({**producer.expected_ends, **fleet_faults.expected_ends}, fleet, redis)
