"""One cluster for all its tests; each has a session of its own, since it kills the executors of it."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bullrush import Queue
from tests.driver.ledger import Ledger
from tests.spark_cluster.cluster import Cluster

pytest.register_assert_rewrite("tests.spark_cluster.checking")  # not imported yet

#: How many rows and jobs; fewer give a quicker run: ROWS=20000.
ROWS = int(os.environ.get("ROWS", "200000"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.cluster)
            item.add_marker(pytest.mark.spark)
            if not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if sys.platform != "linux":
        pytest.skip("a second host name on this machine, 127.0.0.2, is there only on Linux")
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def rows() -> int:
    return ROWS


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


@pytest.fixture
def queue(redis_url: str, queue_name: str) -> Iterator[Queue]:
    with Queue(queue_name, url=redis_url) as queue:
        yield queue
