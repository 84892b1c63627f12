"""Real BullMQ in Node processes, and pairs of key spaces that are compared after every step."""

import shutil
import socket
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from .node_process import NodeProcess
from .node_side import NodeSide
from .pair import Pair

HERE = Path(__file__).parent

@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        ["redis-server", "--port", str(port), "--save", "", "--dir", str(tmp_path_factory.mktemp("redis"))],
        stdout=subprocess.DEVNULL,
    )
    client = redis.Redis(port=port)
    while True:
        try:
            client.ping()
            break
        except redis.ConnectionError:
            pass
    client.close()
    yield f"redis://127.0.0.1:{port}/0"
    server.terminate()
    server.wait()


class NodeFleet:
    """The driver processes of one test session, one per library, started when first needed and after a kill."""

    def __init__(self, redis_url: str) -> None:
        self._redis_url = redis_url
        self._processes: dict[str, NodeProcess] = {}

    def get(self, library: str) -> NodeProcess:
        process = self._processes.get(library)
        if process is None or not process.alive:
            process = self._processes[library] = NodeProcess(library, self._redis_url)
        return process

    def close(self) -> None:
        for process in self._processes.values():
            if process.alive:
                process.close()


@pytest.fixture(scope="session")
def node_fleet(redis_url: str) -> Iterator[NodeFleet]:
    if shutil.which("node") is None or not (HERE / "node_modules").is_dir():
        pytest.skip("needs Node and `npm ci` in tests/interop")
    fleet = NodeFleet(redis_url)
    yield fleet
    fleet.close()


@pytest.fixture
def queue_name() -> str:
    return f"q{uuid.uuid4().hex[:12]}"


@pytest.fixture
def databases(redis_url: str, queue_name: str) -> Iterator[tuple["redis.Redis[str]", "redis.Redis[str]"]]:
    """Two databases of one server: the same key names on both sides, so nothing has to be translated."""
    base = redis_url.rsplit("/", 1)[0]
    clients = tuple(redis.Redis.from_url(f"{base}/{db}", decode_responses=True) for db in (0, 1))
    yield clients
    for client in clients:
        keys = list(client.scan_iter(match=f"bull:{queue_name}*", count=1000))
        if keys:
            client.delete(*keys)
        client.close()


MakePair = Callable[[Callable[[int], object]], Pair]


@pytest.fixture
def make_pair(node_fleet: NodeFleet, databases: tuple, queue_name: str) -> Iterator[MakePair]:
    """Build a pair of real BullMQ 5.62.0 and the side that the given function makes for a database number."""
    node = node_fleet.get("bullmq5")

    def build(make_side: Callable[[int], object]) -> Pair:
        expected = NodeSide(node, 0, "bull", queue_name)
        foreign = (expected, NodeSide(node, 1, "bull", queue_name))
        return Pair(expected, make_side(1), foreign, databases, f"bull:{queue_name}")

    yield build
    node.call("close", stem=queue_name)
    node.call("clock", now=None)
