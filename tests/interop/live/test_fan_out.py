"""Markers of ``fan_out`` beside real BullMQ, whose workers read only the score of a marker."""

from contextlib import ExitStack

import pytest

from bullrush import Queue
from tests.waiting import wait_until

from .our_worker import our_worker

JOBS = 120


@pytest.fixture
def fanning(ours, queue_name, redis_url):
    with Queue(queue_name, url=redis_url, fan_out=True) as queue:
        yield queue


@pytest.fixture
def hints(redis, queue_name):
    """How many markers of a fan-out are left."""
    return lambda: sum(member.startswith("w:") for member in redis.zrange(f"bull:{queue_name}:marker", 0, -1))


def works(count):
    return [{"name": "n", "data": {"return": 1}} for _ in range(count)]


@pytest.mark.parametrize("of_ours", [0, 2])
def test_each_job_runs_once_and_no_marker_is_left(fanning, theirs, queue_name, redis_url, hints, of_ours):
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(theirs.worker(concurrency=2))
        for _ in range(of_ours):
            stack.enter_context(our_worker(queue_name, redis_url, fan_out=True))
        for _ in range(2):
            fanning.add_bulk(works(JOBS // 2))
        fanning.add_bulk([{"name": "n", "opts": {"delay": 50}} for _ in range(JOBS)])
        wait_until(lambda: fanning.get_completed_count() == 2 * JOBS)
        wait_until(lambda: hints() == 0)
    finished = fanning.get_jobs(["completed"], 0, -1)
    assert {job.attempts_started for job in finished} == {1}


def test_their_pause_removes_the_markers_and_their_resume_lets_the_jobs_run(fanning, theirs, hints):
    fanning.add_bulk(works(5))
    assert hints() == 4
    theirs.call("pause")
    assert hints() == 0
    fanning.add_bulk(works(5))
    assert hints() == 0
    with theirs.worker():
        theirs.call("resume")
        wait_until(lambda: fanning.get_completed_count() == 10)


def test_our_resume_wakes_their_workers_at_once(fanning, theirs, hints):
    theirs.call("pause")
    fanning.add_bulk(works(5))
    fanning.resume()
    assert hints() == 4
    with theirs.worker():
        wait_until(lambda: fanning.get_completed_count() == 5)
        wait_until(lambda: hints() == 0)
