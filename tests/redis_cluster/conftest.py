"""Fixtures of the tests on a Redis Cluster, which all run in one test process."""

import re
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis import RedisCluster
from redis.cluster import ClusterNode

from bullrush import Worker
from tests.driver.ledger import Ledger
from tests.servers.cluster import Cluster

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("redis-cluster"))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as servers:
        yield servers


@pytest.fixture
def nodes(cluster: Cluster) -> Iterator[RedisCluster]:
    """A plain client of the whole cluster."""
    with RedisCluster(
        startup_nodes=[ClusterNode("127.0.0.1", node.port) for node in cluster.nodes], decode_responses=True
    ) as client:
        yield client


@pytest.fixture
def name(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[str]:
    """The name of a queue with a hash tag that no other test uses; its keys are removed afterwards."""
    slug = re.sub(r"\W+", "-", request.node.name)[:40].strip("-")
    name = f"{{{slug}-{uuid.uuid4().hex[:8]}}}"
    yield name
    master = cluster.owner(name)
    for key in master.redis.scan_iter(f"*{name}*", count=10_000):
        master.redis.unlink(key)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


@pytest.fixture
def working(cluster: Cluster) -> Callable[..., Any]:
    """Return a context in which a worker runs in a thread."""

    @contextmanager
    def run(queue: str, handler: Any, **options: Any) -> Iterator[Worker]:
        with Worker(queue, handler, url=cluster.url, **options) as worker:
            thread = threading.Thread(target=worker.run)
            thread.start()
            try:
                yield worker
            finally:
                worker.close()
                thread.join()

    return run
