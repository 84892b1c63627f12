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
        #: When jobs were added again that had started, in ms.
        self.added_again: dict[str, list[int]] = defaultdict(list)
        self._started: set[str] = set()
        for queue in queues:
            start = "-"
            while entries := redis.xrange(f"bull:{queue}:events", start, count=20_000):
                for at, fields in entries:
                    self._enter(f"{queue}:{fields.get('jobId')}", fields["event"], int(at.partition("-")[0]))
                start = f"({entries[-1][0]}"
        self.jobs = self._read(redis, list(self.added))

    def _enter(self, job: str, event: str, at: int) -> None:
        match event:
            case "completed" | "failed":
                self.outcomes[job].append(event)
            case "active":
                self._started.add(job)
            case "stalled":
                self.stalls[job] += 1
            case "added":
                self.added[job] += 1
                if job in self._started:
                    self.added_again[job].append(at)

    def leave_out(self, job: str) -> None:
        """Look past how often a job was added, and how it ended."""
        del self.added[job]
        self.outcomes.pop(job, None)

    def check(self, expected_ends: dict[str, ExpectedEnd], fleet: Fleet, redis: Any) -> None:
        """Assert that nothing is wrong."""
        found = self.violations(expected_ends, fleet, redis)
        assert found == {}, {kind: (len(ones), ones[:3]) for kind, ones in found.items()}

    def violations(self, expected_ends: dict[str, ExpectedEnd], fleet: Fleet, redis: Any) -> dict[str, list[Any]]:
        """Return what is wrong, by its kind.

        Each job was added once, has the one outcome it must have and is in one place; there is a reason for each run;
        no lock is left.
        """
        runs = fleet.runs()
        found: dict[str, list[Any]] = {
            "added, but not once": [
                (job, count) for job, count in self.added.items() if count != 1 or job not in expected_ends
            ],
            "not added": list(expected_ends.keys() - self.added.keys()),
            "without an outcome": [
                (job, self.jobs.get(job), runs[job]) for job in expected_ends.keys() - self.outcomes.keys()
            ],
            "with several outcomes": [(job, ends) for job, ends in self.outcomes.items() if len(ends) != 1],
            "with another outcome": [
                (job, ends, self.jobs[job])
                for job, ends in self.outcomes.items()
                if job in expected_ends and ends[0] not in expected_ends[job][0]
            ],
        }
        miscounted, unexplained = [], Counter[str]()
        for job, (_, attempts) in expected_ends.items():
            unexplained[job] = max(0, runs[job] - attempts - self.stalls[job])
            if stored := self.jobs.get(job):
                if (int(stored.get("atm", 0)), int(stored.get("stc", 0))) != (attempts, self.stalls[job]):
                    miscounted.append((job, attempts, self.stalls[job], stored))
                unexplained[job] = max(unexplained[job], runs[job] - int(stored.get("ats", 0)))
        found["with other counts of attempts or stalls"] = miscounted
        if unexplained.total() > fleet.runs_cut_off():
            found["run without a reason"] = [(job, runs[job], self.jobs.get(job)) for job in +unexplained]
        places = Counter(f"{queue}:{id}" for queue in self._queues for id in _members(redis, f"bull:{queue}:"))
        found["in no place, or there without data"] = list(
            {job for job, stored in self.jobs.items() if stored} ^ places.keys()
        )
        found["in several places"] = [(job, count) for job, count in places.items() if count != 1]
        found["locks"] = [key for name in self._queues for key in redis.scan_iter(f"bull:{name}:*:lock", count=10_000)]
        return {kind: ones for kind, ones in found.items() if ones}

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
