"""A handler may hold the GIL: the locks of its worker's jobs are still renewed."""

import pytest

from tests.waiting import wait_until

from .handlers import GIL_SECONDS


@pytest.mark.timeout(90)
def test_jobs_that_hold_the_gil_beyond_their_lock_run_once(queue, own_redis, ledger, start_worker, server):
    jobs = queue.add_bulk([{"name": "hold_the_gil"} for _ in range(8)])
    ledger.acknowledge(job.id for job in jobs)
    for _ in range(3):
        start_worker(server.url, concurrency=3, lock_duration=3000, stalled_interval=400)
    wait_until(lambda: len(ledger.ended) >= 8 and queue.get_completed_count() == 8, "all jobs are done", seconds=80)

    assert all(float(gap) >= GIL_SECONDS - 0.1 for gap in ledger.values("gap")), "the GIL was not held"
    ledger.check(own_redis, queue.name, duplicates=0)
    stalled = [fields for _, fields in own_redis.xrange("bull:work:events") if fields["event"] == "stalled"]
    assert stalled == []
    assert [queue.get_job(job.id).stalled_counter for job in jobs] == [0] * 8
