"""TLS to every node of a cluster, and to Sentinels and the servers that they name.

Only servers that were built with TLS.
"""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from redis.crc import key_slot

from bullrush import Queue, Worker, errors
from tests.servers.secured import Secured, speaks_tls
from tests.servers.sentinel import SERVICE
from tests.servers.tls import Authority
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make certificates")
    if not speaks_tls():
        pytest.skip("this Redis was built without TLS")
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def shown(authority: Authority) -> str:
    """Return the parameters of a client with a certificate."""
    client = authority.sign("client")
    return f"?ssl_ca_certs={authority.certificate}&ssl_certfile={client.certificate}&ssl_keyfile={client.key}"


@pytest.fixture(scope="module")
def secured(authority: Authority) -> Secured:
    # Nodes show it to each other, too, as clients.
    return Secured(authority.sign("server", "127.0.0.1"), authority)


@contextmanager
def working(queue: str, url: str) -> Iterator[list[int]]:
    done: list[int] = []
    with Worker(queue, lambda job: done.append(job.data), url=url) as worker:
        thread = threading.Thread(target=worker.run)
        thread.start()
        yield done
        worker.close()
        thread.join()


def test_each_node_of_a_cluster_is_reached_by_tls(secured, authority, shown):
    with secured.cluster() as ports:
        url = f"rediss+cluster://127.0.0.1:{ports[0]}{shown}"
        # The second one is found by what the first says.
        tags = [next(f"{{{n}}}" for n in range(100) if key_slot(str(n).encode()) // 8192 == half) for half in (0, 1)]
        for tag in tags:
            with working(tag, url) as done:
                queue = Queue(tag, url=url)
                queue.add_bulk([{"name": "n", "data": number} for number in range(3)])
                wait_until(lambda done=done: sorted(done) == [0, 1, 2], "the jobs ran")
                wait_until(lambda queue=queue: queue.get_completed_count() == 3, "their outcomes are stored")
        stranger = f"rediss+cluster://127.0.0.1:{ports[0]}?ssl_ca_certs={authority.certificate}"
        with pytest.raises(errors.ConnectionLostError):
            Queue(tags[0], url=stranger, timeout=1_000).add("n")


def test_sentinels_and_the_masters_that_they_name_are_reached_by_tls(secured, shown):
    with secured.sentinel() as (port, servers):
        url = f"rediss+sentinel://127.0.0.1:{port}/{SERVICE}{shown}"
        with working("work", url) as done:
            queue = Queue("work", url=url, timeout=30_000)
            queue.add("n", 1)
            wait_until(lambda: done == [1], "the job ran")
            servers[0].kill()
            queue.add("n", 2)
            wait_until(lambda: done == [1, 2], "the job ran at the new master")
