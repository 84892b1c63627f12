"""BullMQ 5.62.0, 6.x and bullrush work the same queues at once and some of them are killed: every job ends as it must.

More with FLEET_JOBS=50000. ``make fleet`` adds every kind of fault, see `test_faults.py`.
"""

import os

import pytest

from bullrush import Queue
from tests.interop.sides.their_queue import TheirQueue
from tests.waiting import wait_until

from .final_state import FinalState
from .fleet import KINDS, Fleet
from .jobs import COMPLETED
from .producer import FleetProducer

JOBS = int(os.environ.get("FLEET_JOBS", "3000"))
OF_EACH_KIND = 1 if JOBS < 10_000 else 2
ITERATIONS = 20
SCHEDULERS = 2
EVERY = {"every": 200, "limit": ITERATIONS}


@pytest.fixture
def queues(queue_name, redis):
    names = [queue_name, f"{queue_name}-b"]
    yield names
    for key in redis.scan_iter(f"*:{names[1]}:*", count=10_000):
        redis.unlink(key)


@pytest.fixture
def ours(queues, redis_url):
    """Both queues, used by us."""
    with Queue(queues[0], url=redis_url) as first, Queue(queues[1], url=redis_url) as second:
        yield [first, second]


@pytest.fixture
def theirs(node_fleet, queues):
    """Both queues, used by 5.62.0, then by 6.x."""
    handles = [TheirQueue(node_fleet.get(library), queue) for library in ("bullmq5", "bullmq6") for queue in queues]
    yield handles
    for queue in handles:
        queue.close()


@pytest.fixture
def fleet(redis_url, queues, tmp_path):
    fleet = Fleet(redis_url, queues, tmp_path)
    yield fleet
    fleet.end()


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_every_job_has_one_outcome_when_workers_of_all_kinds_are_killed(fleet, ours, theirs, queues, redis):
    for queue in (*ours, *theirs):
        queue.wait_until_ready() if isinstance(queue, Queue) else queue.call("count")
    for name in queues:
        redis.hset(f"bull:{name}:meta", "opts.maxLenEvents", 100_000_000)
    for queue in theirs[:SCHEDULERS]:
        queue.call("upsertJobScheduler", "every", EVERY, {"data": {"n": 0}})
    producer = FleetProducer(JOBS - SCHEDULERS * ITERATIONS, ours, theirs, queues)
    not_killed = list(KINDS)
    for progress in producer.run():
        if progress > 0.3 and not fleet.started:
            for kind in KINDS * OF_EACH_KIND:
                fleet.start(kind)
            wait_until(lambda: set(fleet.runs_by_kind()) == set(KINDS), seconds=60)
        if fleet.started and not_killed and progress > 1 - len(not_killed) * 0.15:
            kind = not_killed.pop(0)
            fleet.kill(kind)
            fleet.start(kind)
    fleet.wait_until_done(redis, 600)
    fleet.stop()

    final = FinalState(redis, queues)
    iterations = [job for job in final.added if ":repeat:" in job]
    assert len(iterations) == SCHEDULERS * ITERATIONS
    expected_ends = {**producer.expected_ends, **dict.fromkeys(iterations, COMPLETED)}
    assert len(expected_ends) == JOBS
    # A small fleet may be idle at the moment of a kill.
    assert final.stalls or OF_EACH_KIND == 1, "nobody had a job in hand when it was killed"
    final.check(expected_ends, fleet, redis)

    ours[0].obliterate()
    theirs[1].call("obliterate")
    assert [key for name in queues for key in redis.scan_iter(f"*:{name}:*", count=10_000)] == []
