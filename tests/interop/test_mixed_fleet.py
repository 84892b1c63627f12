"""Real BullMQ 5.62.0, 6.x and bullrush work the same queues at once, some of them are killed: the books are right in the end.

``make test`` runs 3,000 jobs, ``make fleet`` 50,000.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from bullrush import Queue

from .fleet import COMPLETED, JOBS_PER_FLOW, KINDS, Fate, Fleet, fate_of_plain, fates_of_flow, flow, plain_job
from .live import TheirQueue, eventually
from .node_side import snaked

JOBS = int(os.environ.get("FLEET_JOBS", "3000"))
OF_EACH_KIND = 1 if JOBS < 10_000 else 2
ITERATIONS = 20
SCHEDULERS = 2
EVERY = {"every": 200, "limit": ITERATIONS}
FLOWS = JOBS // 33
PLAIN = JOBS - FLOWS * JOBS_PER_FLOW - SCHEDULERS * ITERATIONS
BATCH = 250
UNDONE = ("waiting", "active", "delayed", "prioritized", "waiting-children")


@pytest.fixture
def queues(queue_name, redis):
    names = [queue_name, f"{queue_name}-b"]
    yield names
    for key in redis.scan_iter(f"*:{names[1]}:*", count=10_000):
        redis.unlink(key)


@pytest.fixture
def ours(queues, redis_url):
    """Both queues in our hands."""
    with Queue(queues[0], url=redis_url) as first, Queue(queues[1], url=redis_url) as second:
        yield [first, second]


@pytest.fixture
def theirs(node_fleet, queues):
    """Both queues in the hands of 5.62.0, then in those of 6.x."""
    handles = [TheirQueue(node_fleet.get(library), queue) for library in ("bullmq5", "bullmq6") for queue in queues]
    yield handles
    for queue in handles:
        queue.close()


@pytest.fixture
def fleet(redis_url, queues, tmp_path):
    fleet = Fleet(redis_url, queues, tmp_path)
    yield fleet
    fleet.end()


class Production:
    """Adds jobs of every fate from all sides, and remembers what must come of each, by ``queue:id``."""

    def __init__(self, ours: list[Queue], theirs: list[TheirQueue], queues: list[str]) -> None:
        self.fates: dict[str, Fate] = {}
        self._theirs = theirs
        self._queues = queues
        self._adders = [
            lambda jobs: [job.id for job in ours[0].add_bulk([{**job, "opts": snaked(job["opts"])} for job in jobs])],
            lambda jobs: [job["id"] for job in theirs[0].call("addBulk", jobs)],
            lambda jobs: [job["id"] for job in theirs[2].call("addBulk", jobs)],
        ]

    def run(self) -> Iterator[float]:
        """Add everything; yield how much of it is there, now and then."""
        for queue in self._theirs[:SCHEDULERS]:
            queue.call("upsertJobScheduler", "every", EVERY, {"data": {"n": 0}})
        flows = 0
        for batch, first in enumerate(range(0, PLAIN, BATCH)):
            numbers = range(first, min(first + BATCH, PLAIN))
            ids = self._adders[batch % len(self._adders)]([plain_job(n) for n in numbers])
            self.fates |= {f"{self._queues[0]}:{id}": fate_of_plain(n) for id, n in zip(ids, numbers, strict=True)}
            for n in range(flows, FLOWS * numbers.stop // PLAIN):
                self._theirs[n % 2 * 2].add_flow(flow(n, self._queues))
                self.fates |= fates_of_flow(n, self._queues)
                flows = n + 1
            yield numbers.stop / PLAIN


class Books:
    """What Redis tells of all jobs, by ``queue:id``."""

    def __init__(self, redis: Any, queues: list[str]) -> None:
        self.outcomes: dict[str, list[str]] = defaultdict(list)
        self.added: Counter[str] = Counter()
        self.stalls: Counter[str] = Counter()
        for queue in queues:
            start = "-"
            while entries := redis.xrange(f"bull:{queue}:events", start, count=20_000):
                for _, fields in entries:
                    self._enter(f"{queue}:{fields.get('jobId')}", fields["event"])
                start = f"({entries[-1][0]}"
        self.jobs = self._read(redis, list(self.added))

    def _enter(self, job: str, event: str) -> None:
        match event:
            case "completed" | "failed":
                self.outcomes[job].append(event)
            case "stalled":
                self.stalls[job] += 1
            case "added":
                self.added[job] += 1

    @staticmethod
    def _read(redis: Any, jobs: list[str]) -> dict[str, dict[str, str]]:
        with redis.pipeline(transaction=False) as pipe:
            for job in jobs:
                pipe.hgetall(f"bull:{job}")
            return dict(zip(jobs, pipe.execute(), strict=True))


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_every_job_has_one_outcome_whoever_works_and_dies(fleet, ours, theirs, queues, redis):
    for queue in (*ours, *theirs):
        queue.wait_until_ready() if isinstance(queue, Queue) else queue.call("count")
    for name in queues:
        redis.hset(f"bull:{name}:meta", "opts.maxLenEvents", 100_000_000)
    production = Production(ours, theirs, queues)
    doomed = list(KINDS)
    for progress in production.run():
        if progress > 0.3 and not fleet.started:
            for kind in KINDS * OF_EACH_KIND:
                fleet.start(kind)
            eventually(lambda: set(fleet.runs_by_kind()) == set(KINDS), seconds=60)
        if fleet.started and doomed and progress > 1 - len(doomed) * 0.15:
            kind = doomed.pop(0)
            fleet.kill(kind)
            fleet.start(kind)
    eventually(lambda: not any(sum(queue.get_job_counts(*UNDONE).values()) for queue in ours), seconds=600)
    fleet.stop()

    books = Books(redis, queues)
    iterations = [job for job in books.added if ":repeat:" in job]
    assert len(iterations) == SCHEDULERS * ITERATIONS
    fates = {**production.fates, **dict.fromkeys(iterations, COMPLETED)}
    assert len(fates) == JOBS
    assert books.added == dict.fromkeys(fates, 1)
    assert {job: ends for job, ends in books.outcomes.items() if len(ends) != 1 or ends[0] not in fates[job][0]} == {}
    assert books.outcomes.keys() == fates.keys()
    # A small fleet may be idle in the very moment of a kill.
    assert books.stalls or OF_EACH_KIND == 1, "nobody had a job in hand when it was killed"
    runs = fleet.runs()
    for job, (_, attempts) in fates.items():
        stored = books.jobs[job]
        assert runs[job] <= attempts + books.stalls[job], (job, stored)
        if stored:
            assert int(stored["atm"]) == attempts, (job, stored)
            assert int(stored.get("stc", 0)) == books.stalls[job], (job, stored)
            assert runs[job] <= int(stored["ats"]), (job, stored)
    assert not [key for name in queues for key in redis.scan_iter(f"bull:{name}:*:lock", count=10_000)]

    ours[0].obliterate()
    theirs[1].call("obliterate")
    assert [key for name in queues for key in redis.scan_iter(f"*:{name}:*", count=10_000)] == []
