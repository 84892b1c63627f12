"""`SENTINEL FAILOVER` under load, with real Sentinels. ``make failovers`` measures ten of them, at a higher rate."""

from collections.abc import Iterator

import pytest

from tests.servers.sentinel import SentinelServers

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
    assert stays.lost > stays.acknowledged / 100, found


def test_the_page_about_production_has_the_figures_of_the_last_measurement():
    run = report.load()
    assert run.given["failovers"] >= 10
    assert report.is_little(run)
    page = report.PAGE.read_text()
    assert report.with_figures(page, run) == page
