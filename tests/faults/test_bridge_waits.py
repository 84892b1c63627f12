"""The bridge from a queue of Bull waits while Redis is away."""

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest

from bullrush import LegacyQueue, Queue
from bullrush.errors import ClosedError
from tests.waiting import wait_until

from .conftest import QUEUE
from .proxy import Proxy


@pytest.mark.parametrize("prefix", ["bullmq", "bull"], ids=["one_server", "two_servers"])
def test_a_bridge_goes_on_when_redis_is_back(server, proxy: Proxy, prefix, caplog):
    database = 0 if prefix == "bullmq" else 1  # another database is another server
    to, direct = (
        Queue(QUEUE, url=f"{url.rpartition('/')[0]}/{database}", prefix=prefix) for url in (proxy.url, server.url)
    )
    with LegacyQueue(QUEUE, url=proxy.url, flavor="4", timeout=500) as bridged, ThreadPoolExecutor(1) as thread:
        with LegacyQueue(QUEUE, url=server.url, flavor="4") as old, caplog.at_level(logging.WARNING, "bullrush"):
            ids = [old.add("welcome", n).id for n in range(5)]
            bridging = thread.submit(bridged.bridge, to)
            wait_until(lambda: direct.get_waiting_count() == 5, "the first jobs have moved")
            proxy.refuse(True)
            proxy.cut()
            wait_until(lambda: "waits for Redis" in caplog.text, "the bridge notices the outage")
            ids += [old.add("welcome", n).id for n in range(5, 300)]
            proxy.refuse(False)
            wait_until(lambda: direct.get_waiting_count() == 300, "all jobs have moved")
        bridged.close()
        bridging.result()
    assert [job.id for job in direct.get_waiting(0, -1)] == ids
    assert caplog.text.count("waits for Redis") == 1


def test_a_bridge_that_is_closed_while_it_begins_ends(server, monkeypatch):
    begin = LegacyQueue._check_owner

    async def close_and_begin(self: LegacyQueue) -> None:
        self._shut_down()
        await begin(self)

    monkeypatch.setattr(LegacyQueue, "_check_owner", close_and_begin)
    to = Queue(QUEUE, url=server.url, prefix="bullmq")
    assert LegacyQueue(QUEUE, url=server.url, flavor="4").bridge(to).moved == {}
    closed = LegacyQueue(QUEUE, url=server.url, flavor="4")
    closed.close()
    with pytest.raises(ClosedError):
        closed.bridge(to)
