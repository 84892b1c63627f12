"""`SENTINEL FAILOVER` under load, with real Sentinels. ``make failovers`` measures ten of them, at a higher rate."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from bullrush import Queue
from tests.servers.sentinel import SentinelServers
from tests.waiting import wait_until

from .held_writes import writes_wait
from .sentinel_failover import report
from .sentinel_failover.measure import allow_users, fail_over

pytestmark = [pytest.mark.xdist_group("sentinel"), pytest.mark.timeout(240)]

#: Jobs per second and producer: what a loaded machine can do.
RATE = 1000


@pytest.fixture(scope="module")
def servers() -> Iterator[SentinelServers]:
    with SentinelServers(down_after=5000) as servers:
        allow_users(servers)
        yield servers


def test_a_failover_under_load_loses_next_to_nothing_where_who_hears_only_of_its_end_loses_much(servers, tmp_path):
    found = fail_over(servers, RATE, tmp_path, seconds=4)
    waits, stays = found["waits"], found["stays"]
    assert waits.acknowledged >= 5000
    assert waits.is_little, found
    assert stays.lost > 20 + 10 * waits.lost, found


def test_a_failover_that_the_sentinel_gives_up_holds_writes_up_until_then(servers):
    master = servers.master()
    replicas = [server for server in servers.servers if server is not master]
    with Queue("work", url=servers.url, timeout=60_000) as queue:
        queue.add("any")
        with servers.ask(servers.sentinels[0]) as sentinel:
            wait_until(lambda: any(client["psub"] == "1" for client in sentinel.client_list()), "it listens")
        try:
            for replica in replicas:
                os.kill(replica.pid, signal.SIGSTOP)
            servers.begin_failover()
            wait_until(lambda: writes_wait(servers.url), "writes wait")
            began = time.monotonic()
            queue.add("any", job_id="during")
            assert time.monotonic() - began < 8, "it gives up after 3 s; without that writes wait for 10 s"
        finally:
            for replica in replicas:
                os.kill(replica.pid, signal.SIGCONT)
        with servers.connect(master) as redis:
            assert redis.exists("bull:work:during")
    servers.wait_until_ready()


def test_the_page_about_production_has_the_figures_of_the_last_measurement():
    run = report.load()
    assert run.given["failovers"] >= 10
    assert report.is_little(run)
    page = report.PAGE.read_text()
    assert report.with_figures(page, run) == page
