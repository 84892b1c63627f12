"""Fixtures of the fault tests: a server that may be killed, a ledger, worker processes, a proxy that breaks things."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue
from bullrush.embedded import EmbeddedRedis
from tests.driver.ledger import Ledger
from tests.driver.worker_process import WorkerProcess
from tests.servers.ports import free_port
from tests.waiting import wait_until

from .proxy import Proxy

HERE = Path(__file__).parent
QUEUE = "work"
#: What worker processes run.
HANDLERS = "tests.faults.handlers:Handlers"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.faults)


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """Return a server in memory that only this test uses."""
    with EmbeddedRedis(port=0, password="") as own:
        yield own


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Return the URL of a cluster of one node, which serves all slots."""
    own = EmbeddedRedis(port=free_port(), password="", args=["--cluster-enabled", "yes"])
    with own as server, Redis.from_url(server.url) as redis:
        redis.execute_command("CLUSTER ADDSLOTS", *range(16384))
        wait_until(lambda: redis.execute_command("CLUSTER INFO")["cluster_state"] == "ok", "the cluster is up")
        yield server.url


@pytest.fixture
def lasting_server(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    """Return a server that writes to disk before it acknowledges: what it acknowledged survives a kill."""
    with EmbeddedRedis(tmp_path / "data", port=0, password="", args=["--appendfsync", "always"]) as own:
        yield own


@pytest.fixture
def client_of() -> Iterator[Callable[[EmbeddedRedis], Redis]]:
    """Return a function that makes plain clients; they are closed after the test."""
    clients: list[Redis] = []

    def connect(server: EmbeddedRedis) -> Redis:
        clients.append(Redis.from_url(server.url, decode_responses=True))
        return clients[-1]

    yield connect
    for client in clients:
        client.close()


@pytest.fixture
def own_redis(server: EmbeddedRedis, client_of: Callable[[EmbeddedRedis], Redis]) -> Redis:
    return client_of(server)


@pytest.fixture
def queue(server: EmbeddedRedis) -> Queue:
    return Queue(QUEUE, url=server.url)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


@pytest.fixture
def start_worker(ledger: Ledger, tmp_path: Path) -> Iterator[Callable[..., WorkerProcess]]:
    """Return a function that starts worker processes: ``start_worker(url, concurrency=2)``."""
    started: list[WorkerProcess] = []

    def start(url: str, queue: str = QUEUE, **options: Any) -> WorkerProcess:
        started.append(WorkerProcess(url, queue, HANDLERS, tmp_path, ledger=ledger.path, **options))
        return started[-1]

    yield start
    for process in started:
        if process.alive:
            process.kill()
        print(process.log.read_text())


@pytest.fixture
def proxy(server: EmbeddedRedis) -> Iterator[Proxy]:
    with Proxy(int(server.url.rsplit(":", 1)[1].split("/")[0])) as relay:
        yield relay
