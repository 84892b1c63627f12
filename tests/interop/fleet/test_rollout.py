"""BullMQ is rolled from 5.62.0 to 6.x and back beside our workers, or the version of the queues flips: no job is lost.

``make fleet`` runs it. `rollout_report.py` plays the same with 50,000 jobs, and without us.
"""

import os

import pytest
from redis import Redis

from bullrush.embedded import EmbeddedRedis
from tests.driver.ledger import completions
from tests.interop.peers import NEWEST_6, PEERS
from tests.interop.sides.node_process import NodeProcess
from tests.interop.sides.their_queue import TheirQueue

from . import rollout_report
from .fleet import KINDS, OUR_KINDS
from .rollout import flip, pause_between_versions, roll
from .rollout_report import OF_BULLMQ

JOBS = int(os.environ.get("ROLLOUT_JOBS", "0"))
SEED = int(os.environ.get("SEED", "1"))
#: A moment at which a job of a scheduler is due, in ms.
SECOND = 1_800_000_000_000

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]
played = pytest.mark.skipif(not JOBS, reason="make fleet runs it")


@pytest.fixture
def url():
    with EmbeddedRedis(port=0, password="") as server:
        yield server.url


@played
def test_every_job_has_one_outcome_while_node_is_rolled_to_6_and_back_worker_by_worker(url, tmp_path):
    outcome = roll(url, tmp_path, jobs=JOBS, seed=SEED, with_ours=True)
    assert outcome.violations.keys() <= OF_BULLMQ, outcome
    assert outcome.runs.keys() >= {*OUR_KINDS, *(peer.library for peer in PEERS.values())}
    assert outcome.replaced == 12


@played
def test_every_job_has_one_outcome_while_the_version_of_its_queue_flips_each_second(url, tmp_path):
    outcome = flip(url, tmp_path, jobs=2 * JOBS)
    assert outcome.violations.keys() <= OF_BULLMQ, outcome
    assert outcome.runs.keys() == set(KINDS)


@played
def test_a_play_finds_the_jobs_that_bullmq_loses_where_5_pauses_a_queue_beside_6(url, tmp_path):
    """So that a play can fail, and as the reason why only we pause in the one before."""
    violations = pause_between_versions(url, tmp_path, jobs=JOBS // 4).violations
    assert "without an outcome" in violations
    assert "in no place, or there without data" in violations


def test_bullmq_6_alone_runs_the_job_of_a_slot_again_if_its_scheduler_is_written_meanwhile(url):
    """Why `OF_BULLMQ` is no fault of ours: the call begins before the slot, and ends when its job has run."""
    node, rule = NodeProcess(NEWEST_6.library, url), {"pattern": "* * * * * *"}
    try:
        queue = TheirQueue(node, "alone")
        node.call("clock", now=SECOND - 100)
        queue.call("upsertJobScheduler", "seconds", rule)
        node.call("clock", now=SECOND)
        queue.work()
        node.call("clock", now=SECOND - 50)
        queue.call("upsertJobScheduler", "seconds", rule)
        node.call("clock", now=SECOND)
        queue.work()
    finally:
        node.close()
    with Redis.from_url(url, decode_responses=True) as redis:
        assert completions(redis, "alone") == {f"repeat:seconds:{SECOND}": 2}


def test_the_page_about_upgrading_has_the_figures_of_the_last_rollouts():
    runs = rollout_report.load()
    page = rollout_report.PAGE.read_text()
    assert rollout_report.with_figures(page, runs) == page


def test_no_job_of_the_last_rollouts_was_lost_or_doubled_beside_bullrush():
    runs = rollout_report.load()
    for name in ("rolled", "flipped"):
        assert runs[name].found["jobs"] >= 50_000
        assert rollout_report.violations_of_ours(runs[name]) == set()
    assert runs[rollout_report.ALONE].found["jobs"] >= 50_000
