"""Jobs of forty targets, worked by profiles and plain workers of both sides under kills: none misroutes.

``make fleet`` runs it with 100,000 jobs.
"""

import os

import pytest

from bullrush import FlowProducer, Queue
from tests.interop.sides.results import snaked
from tests.interop.sides.their_queue import TheirQueue

from .final_state import FinalState
from .fleet import ALL_EVENTS
from .jobs import COMPLETED
from .route_fleet import RouteFleet
from .route_producer import ITERATIONS, SCHEDULED, RouteFleetProducer, target_of
from .routes import TARGETS

JOBS = int(os.environ.get("ROUTE_JOBS", "3000"))
#: The route that BullMQ's own workers and producers know by its name.
SHARED = TARGETS[4]


@pytest.fixture
def base(queue_name, redis_url, redis):
    with Queue(queue_name, url=redis_url, **snaked(ALL_EVENTS)) as queue:
        yield queue


@pytest.fixture
def theirs(node_fleet, base):
    node = node_fleet.get("bullmq5")
    queues = {name: TheirQueue(node, name, ALL_EVENTS) for name in (base.name, base.route(SHARED).name)}
    yield queues
    for queue in queues.values():
        queue.close()


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_no_job_of_forty_routes_misroutes_and_each_has_one_outcome(base, theirs, redis, redis_url, tmp_path):
    targets = {base.route(target).name: target for target in TARGETS}
    assert len(targets) == len(TARGETS)
    fleet = RouteFleet.of(redis_url, [base.name, *targets], base.route(SHARED).name, tmp_path)
    for name in fleet.queues:
        redis.hset(f"bull:{name}:meta", "opts.maxLenEvents", 100_000_000)
    try:
        expected_ends = work(fleet, base, theirs, redis_url)
        fleet.wait_until_done(redis, 600)
        fleet.stop()
    finally:
        fleet.end()
    assert fleet.misroutes(targets) == {}
    # Of few jobs a process that starts slowly may get none.
    idle = [name for name in fleet.members if not fleet.runs_by_kind()[name]]
    assert not idle or JOBS < 10_000, f"had nothing to do: {idle}"
    final = FinalState(redis, fleet.queues)
    iterations = [job for job in final.added if ":repeat:" in job]
    assert len(iterations) == len(SCHEDULED) * ITERATIONS
    assert len(expected_ends) == JOBS
    assert final.stalls or JOBS < 10_000, "nobody had a job in hand when it was killed"
    final.check({**expected_ends, **dict.fromkeys(iterations, COMPLETED)}, fleet, redis)
    base.obliterate()
    assert list(redis.scan_iter(f"bull:{base.name}*", count=10_000)) == []


def work(fleet, base, theirs, redis_url):
    """Add jobs, start the fleet in the middle, and kill each process once. Returns how the jobs must end."""
    with FlowProducer(url=redis_url) as flows:
        producer = RouteFleetProducer(JOBS, base, theirs, flows)
        producer.add_schedulers()
        living = list(fleet.members)
        for progress in producer.run():
            if not fleet.started and progress > 0.2:
                for name in fleet.members:
                    fleet.start(name)
            if fleet.started and living and progress > 1 - len(living) * 0.1:
                fleet.kill(name := living.pop(0))
                fleet.start(name)
        while living:
            fleet.kill(name := living.pop(0))
            fleet.start(name)
    return producer.expected_ends


def test_the_targets_of_the_jobs_are_all_of_them_and_none():
    assert [target_of(n) for n in range(41)] == [*TARGETS, None]
