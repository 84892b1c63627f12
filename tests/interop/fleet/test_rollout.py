"""BullMQ is rolled from 5.62.0 to 6.x and back beside our workers, or the version of the queues flips: no job is lost.

``make fleet`` runs it. `rollout_report.py` plays the same with 50,000 jobs, and without us.
"""

import os

import pytest

from bullrush.embedded import EmbeddedRedis
from tests.interop.peers import PEERS

from .fleet import KINDS, OUR_KINDS
from .rollout import flip, pause_between_versions, roll
from .rollout_report import OF_BULLMQ

JOBS = int(os.environ.get("ROLLOUT_JOBS", "0"))
SEED = int(os.environ.get("SEED", "1"))

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
    outcome = flip(url, tmp_path, jobs=3 * JOBS)
    assert outcome.violations.keys() <= OF_BULLMQ, outcome
    assert outcome.runs.keys() == set(KINDS)


@played
def test_a_play_finds_the_jobs_that_bullmq_loses_where_5_pauses_a_queue_beside_6(url, tmp_path):
    """So that a play can fail, and as the reason why only we pause in the one before."""
    violations = pause_between_versions(url, tmp_path, jobs=JOBS // 4).violations
    assert "without an outcome" in violations
    assert "in no place, or there without data" in violations
