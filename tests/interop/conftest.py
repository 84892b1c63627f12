"""Real BullMQ in Node processes, and pairs of key spaces that are compared after every step."""

import re
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from redis import Redis

from bullrush import Queue
from bullrush._core import stop_clock
from tests.interop.newer import reasons_to_fail
from tests.interop.peers import FLOOR, NEWEST_6, PEERS, Peer, peers_of
from tests.interop.sides.manual_side import ManualSide
from tests.interop.sides.node_process import NodeProcess
from tests.interop.sides.node_side import NodeSide
from tests.interop.sides.pair import Pair, Sides
from tests.interop.sides.queue_side import QueueSide
from tests.interop.sides.script_side import ScriptSide
from tests.interop.sides.state import by_job
from tests.interop.sides.their_queue import TheirQueue
from tests.interop.sides.timeless import without_times, without_traces, without_wake_ups

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder needs Node, and some are expected to fail beside a newer peer."""
    for item in items:
        if HERE not in item.path.parents:
            continue
        item.add_marker(pytest.mark.node)
        chosen = (
            item.callspec.params.get("peer")
            if isinstance(item, pytest.Function) and hasattr(item, "callspec")
            else None
        )
        if chosen and (reasons := reasons_to_fail(without_peer(item, chosen), PEERS[chosen])):
            item.add_marker(pytest.mark.xfail(reason="; ".join(reasons), strict=True))


def without_peer(item: pytest.Item, peer: str) -> str:
    """Return the id of a test below this folder as it is beside any peer."""
    named = re.escape(beside(peer))
    name = re.sub(f"{named}-|-?{named}", "", item.name, count=1).removesuffix("[]")
    return f"{item.path.relative_to(HERE).as_posix()}::{name}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--peer``: beside which BullMQ the tests run; may be given several times."""
    parser.addoption("--peer", action="append", choices=PEERS, help="the BullMQ beside which the tests run")


def beside(peer: str) -> str:
    """Return what the id of a test says about its peer."""
    return f"beside-{peer}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that uses a peer beside those that were chosen, or else those of its room."""
    asked = [PEERS[name] for name in metafunc.config.getoption("--peer", None) or ()]
    room = metafunc.definition.path.relative_to(HERE).parts[0]
    for fixture, peers in {
        "peer": asked or peers_of(room),
        "peer_of_5": [peer for peer in asked if peer.major == FLOOR.major] or [FLOOR],
    }.items():
        if fixture in metafunc.fixturenames:
            names = [peer.name for peer in peers]
            metafunc.parametrize(fixture, names, ids=map(beside, names), indirect=True, scope="session")


@pytest.fixture(scope="session")
def peer(request: pytest.FixtureRequest) -> Peer:
    """The version of BullMQ beside which the test runs."""
    return PEERS[request.param]


@pytest.fixture(scope="session")
def peer_of_5(request: pytest.FixtureRequest) -> Peer:
    """A 5.x, for tests in which one takes part whatever the peer is."""
    return PEERS[request.param]


def server_of(redis_url: str) -> str:
    """Return the URL without its database number."""
    parts = urlsplit(redis_url)
    return f"{parts.scheme}://{parts.netloc}"


class NodeFleet:
    """The driver processes of one test session, one per library, started at the first use and after a kill."""

    def __init__(self, redis_url: str) -> None:
        self._redis_url = redis_url
        self._processes: dict[str, NodeProcess] = {}

    def get(self, library: str) -> NodeProcess:
        process = self._processes.get(library)
        if process is None or not process.alive:
            program = "driver.js" if library.startswith("bullmq") else "bull.js"
            process = self._processes[library] = NodeProcess(library, self._redis_url, program)
        return process

    def close(self) -> None:
        for process in self._processes.values():
            if process.alive:
                process.close()


@pytest.fixture(scope="session")
def node_fleet(redis_url: str) -> Iterator[NodeFleet]:
    fleet = NodeFleet(redis_url)
    yield fleet
    fleet.close()


@pytest.fixture
def databases(redis_url: str, queue_name: str) -> Iterator[tuple[Any, Any]]:
    """Two databases of one server: both sides have the same key names."""
    # Scripts return jobs as bytes that are not UTF-8.
    options = {"decode_responses": True, "encoding_errors": "surrogateescape"}
    clients = tuple(Redis.from_url(f"{server_of(redis_url)}/{db}", **options) for db in (0, 1))
    yield clients
    for client in clients:
        for key in client.scan_iter(f"*:{queue_name}*", count=10_000):
            client.unlink(key)
        client.close()


#: Makes the side under test for a database number, a prefix and a queue name.
MakeSide = Callable[[int, str, str], Any]


@pytest.fixture
def node(peer: Peer, node_fleet: NodeFleet) -> NodeProcess:
    """Real BullMQ of the test's peer."""
    return node_fleet.get(peer.library)


@pytest.fixture
def make_pair(node: NodeProcess, databases: tuple[Any, Any], queue_name: str) -> Iterator[Callable[..., Pair]]:
    """Build a pair of real BullMQ and the side under test: ``make_pair(make_side, queue=..., ...)``."""

    def build(make_side: MakeSide, queue: str = queue_name, *, words: bool = False, **options: Any) -> Pair:
        def open_queue(prefix: str, name: str) -> Sides:
            expected, foreign = (NodeSide(node, db, prefix, name, words) for db in (0, 1))
            return Sides(expected, make_side(1, prefix, name), foreign)

        return Pair(open_queue, databases, queue, **options)

    yield build
    node.call("close", stem=queue_name)
    node.call("clock", now=None)


@pytest.fixture
def script_side(node: NodeProcess, databases: tuple[Any, Any]) -> MakeSide:
    """Our Lua scripts alone; BullMQ's own parser reads cron patterns."""

    def cron(after: int, repeat: dict[str, Any]) -> int | None:
        firing: int | None = node.call("cron", after=after, repeat=repeat)
        return firing

    return lambda db, prefix, queue: ScriptSide(databases[db], prefix, queue, cron)


@pytest.fixture
def pair(make_pair: Callable[..., Pair], script_side: MakeSide) -> Pair:
    """Real BullMQ beside our Lua scripts."""
    return make_pair(script_side)


@pytest.fixture
def new_api_pair(make_pair: Callable[..., Pair], redis_url: str, queue_name: str) -> Callable[[], Pair]:
    """Make pairs of real BullMQ and bullrush's public API, on the real clock, each with its own queue."""
    numbers = count()

    def make() -> Pair:
        origin = time.time_ns() // 1_000_000
        return make_pair(
            lambda db, prefix, queue: QueueSide(f"{server_of(redis_url)}/{db}", queue),
            f"{queue_name}-{next(numbers)}",
            words=True,
            clock=None,
            view=lambda state: by_job(without_wake_ups(without_times(state, origin))),
        )

    return make


@pytest.fixture
def api_pair(new_api_pair: Callable[[], Pair]) -> Pair:
    """One such pair."""
    return new_api_pair()


@pytest.fixture
def manual_pair(make_pair: Callable[..., Pair], redis_url: str) -> Iterator[Pair]:
    """Real BullMQ and bullrush's public API, job by job, both on a stopped clock."""
    yield make_pair(
        lambda db, prefix, queue: ManualSide(f"{server_of(redis_url)}/{db}", queue, prefix),
        words=True,
        view=without_traces,
    )
    stop_clock(None)


@pytest.fixture(params=["scripts", "api"])
def stopped_pair(request: pytest.FixtureRequest, peer: Peer) -> Pair:
    """First our Lua scripts, then the whole of bullrush, both on a stopped clock."""
    pair: Pair = request.getfixturevalue("pair" if request.param == "scripts" else "manual_pair")
    return pair


@pytest.fixture(params=["scripts", "api"])
def any_pair(request: pytest.FixtureRequest, peer: Peer) -> Pair:
    """First our Lua scripts, then the whole of bullrush; for sequences that only manage jobs that BullMQ works."""
    pair: Pair = request.getfixturevalue("pair" if request.param == "scripts" else "api_pair")
    return pair


@pytest.fixture
def theirs(node: NodeProcess, queue_name: str) -> Iterator[TheirQueue]:
    """The test's queue, used by a Node process."""
    queue = TheirQueue(node, queue_name)
    yield queue
    queue.close()


@pytest.fixture
def old(peer_of_5: Peer, node_fleet: NodeFleet, queue_name: str) -> Iterator[TheirQueue]:
    """The test's queue, used by a 5.x."""
    queue = TheirQueue(node_fleet.get(peer_of_5.library), queue_name)
    yield queue
    queue.close()


@pytest.fixture
def new(node_fleet: NodeFleet, queue_name: str) -> Iterator[TheirQueue]:
    """The test's queue, used by the newest 6.x."""
    queue = TheirQueue(node_fleet.get(NEWEST_6.library), queue_name)
    yield queue
    queue.close()


@pytest.fixture
def ours(redis_url: str, queue_name: str, redis: Redis) -> Iterator[Queue]:
    """The test's queue, used by us."""
    with Queue(queue_name, url=redis_url) as queue:
        yield queue


@pytest.fixture
def bull(request: pytest.FixtureRequest, node_fleet: NodeFleet) -> NodeProcess:
    """Real Bull, of the version in the test's parameter; see `legacy/bull_queue.py`."""
    return node_fleet.get(request.param)
