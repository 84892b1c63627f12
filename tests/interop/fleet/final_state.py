"""The final state of all jobs in Redis, and whether it is right."""

from collections import Counter, defaultdict
from typing import Any

from .fleet import Fleet
from .jobs import ExpectedEnd


class FinalState:
    """The state of all jobs in Redis, by ``queue:id``."""

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

    def check(self, expected_ends: dict[str, ExpectedEnd], fleet: Fleet, redis: Any) -> None:
        """Assert that each job was added once and has the one outcome it must have, and that runs are explained."""
        runs, unexplained = fleet.runs(), Counter[str]()
        strange = {job: count for job, count in self.added.items() if count != 1 or job not in expected_ends}
        assert strange == {}, strange
        missing = expected_ends.keys() - self.added.keys()
        assert missing == set(), missing
        wrong = {
            job: ends for job, ends in self.outcomes.items() if len(ends) != 1 or ends[0] not in expected_ends[job][0]
        }
        assert wrong == {}, {job: (self.jobs[job], runs[job], self.stalls[job]) for job in list(wrong)[:3]}
        assert self.outcomes.keys() == expected_ends.keys(), expected_ends.keys() - self.outcomes.keys()
        for job, (_, attempts) in expected_ends.items():
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
