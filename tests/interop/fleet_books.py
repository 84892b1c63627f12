"""What is added to a fleet's queues, and what Redis tells of it in the end."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from bullrush import Queue

from .fleet import JOBS_PER_FLOW, Fate, Fleet, fate_of_plain, fates_of_flow, flow, plain_job
from .live import TheirQueue
from .node_side import snaked

BATCH = 250


class Production:
    """Adds jobs of every fate from all sides, and remembers what must come of each, by ``queue:id``."""

    def __init__(self, jobs: int, ours: list[Queue], theirs: list[TheirQueue], queues: list[str]) -> None:
        self.fates: dict[str, Fate] = {}
        self._flows = jobs // 33
        self._plain = jobs - self._flows * JOBS_PER_FLOW
        self._theirs = theirs
        self._queues = queues
        self._adders = [
            lambda jobs: [job.id for job in ours[0].add_bulk([{**job, "opts": snaked(job["opts"])} for job in jobs])],
            lambda jobs: [job["id"] for job in theirs[0].call("addBulk", jobs)],
            lambda jobs: [job["id"] for job in theirs[2].call("addBulk", jobs)],
        ]

    def run(self) -> Iterator[float]:
        """Add everything; yield how much of it is there, now and then."""
        flows = 0
        for batch, first in enumerate(range(0, self._plain, BATCH)):
            numbers = range(first, min(first + BATCH, self._plain))
            ids = self._adders[batch % len(self._adders)]([plain_job(n) for n in numbers])
            self.fates |= {f"{self._queues[0]}:{id}": fate_of_plain(n) for id, n in zip(ids, numbers, strict=True)}
            for n in range(flows, self._flows * numbers.stop // self._plain):
                self._theirs[n % 2 * 2].add_flow(flow(n, self._queues))
                self.fates |= fates_of_flow(n, self._queues)
                flows = n + 1
            yield numbers.stop / self._plain


class Books:
    """What Redis tells of all jobs, by ``queue:id``."""

    def __init__(self, redis: Any, queues: list[str]) -> None:
        self._queues = queues
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

    def check(self, fates: dict[str, Fate], fleet: Fleet, redis: Any) -> None:
        """Assert that each job was added once and has one outcome, the one it must have, and that runs are explained."""
        runs, unexplained = fleet.runs(), Counter[str]()
        strange = {job: count for job, count in self.added.items() if count != 1 or job not in fates}
        assert strange == {}, strange
        missing = fates.keys() - self.added.keys()
        assert missing == set(), missing
        wrong = {job: ends for job, ends in self.outcomes.items() if len(ends) != 1 or ends[0] not in fates[job][0]}
        assert wrong == {}, {job: (self.jobs[job], runs[job], self.stalls[job]) for job in list(wrong)[:3]}
        assert self.outcomes.keys() == fates.keys(), fates.keys() - self.outcomes.keys()
        for job, (_, attempts) in fates.items():
            stored = self.jobs[job]
            unexplained[job] = max(0, runs[job] - attempts - self.stalls[job])
            if stored:
                assert int(stored["atm"]) == attempts, (job, stored)
                assert int(stored.get("stc", 0)) == self.stalls[job], (job, stored)
                unexplained[job] = max(unexplained[job], runs[job] - int(stored["ats"]))
        assert unexplained.total() <= fleet.runs_cut_off(), [(job, runs[job], self.jobs[job]) for job in +unexplained]
        ended = Counter(f"{queue}:{id}" for queue in self._queues for id in _members(redis, f"bull:{queue}:"))
        lost = {job for job, stored in self.jobs.items() if stored} ^ ended.keys()
        assert lost == set(), lost
        assert set(ended.values()) == {1}, ended.most_common(5)
        locks = [key for name in self._queues for key in redis.scan_iter(f"bull:{name}:*:lock", count=10_000)]
        assert locks == [], locks

    @staticmethod
    def _read(redis: Any, jobs: list[str]) -> dict[str, dict[str, str]]:
        with redis.pipeline(transaction=False) as pipe:
            for job in jobs:
                pipe.hgetall(f"bull:{job}")
            return dict(zip(jobs, pipe.execute(), strict=True))


def _members(redis: Any, base: str) -> list[str]:
    """Return every job of every list and set that a job may be in."""
    lists = [job for name in ("wait", "active", "paused") for job in redis.lrange(base + name, 0, -1)]
    names = ("completed", "failed", "delayed", "prioritized", "waiting-children")
    return lists + [job for name in names for job in redis.zrange(base + name, 0, -1)]
