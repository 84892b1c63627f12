"""A ledger: which jobs were acknowledged to the producer, and which handlers ran, in any process."""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from redis import Redis


class Ledger:
    """One line per fact, appended in one write, so that a killed process leaves only whole lines.

    Any number of processes may write into one file, also executors to which Spark has sent the ledger.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.path.touch()

    def acknowledge(self, ids: Iterable[str]) -> None:
        """Record jobs whose add has returned: they must not get lost."""
        self._append("".join(f"added {job_id}\n" for job_id in ids))

    def begin(self, job_id: str) -> None:
        """Record that a handler has started a job."""
        self._append(f"began {job_id}\n")

    def end(self, job_id: str) -> None:
        """Record that a handler has returned."""
        self._append(f"ended {job_id}\n")

    def note(self, fact: str) -> None:
        """Record any other fact, as a word and a value."""
        self._append(f"{fact}\n")

    @property
    def acknowledged(self) -> list[str]:
        return self.values("added")

    @property
    def begun(self) -> list[str]:
        """The job of every run, in the order in which they started."""
        return self.values("began")

    @property
    def ended(self) -> list[str]:
        return self.values("ended")

    @property
    def runs(self) -> Counter[str]:
        """How often each job was begun."""
        return Counter(self.begun)

    @property
    def duplicates(self) -> int:
        """The number of runs after the first one of each job."""
        return len(self.begun) - len(set(self.begun))

    def values(self, fact: str) -> list[str]:
        return [value for word, value in self._facts() if word == fact]

    def check(self, redis: Redis, queue: str, *, duplicates: int) -> None:
        """Assert that each acknowledged job is completed once, that no other is left, and how often jobs ran again."""
        key = f"bull:{queue}:"
        completed = set(redis.zrange(key + "completed", 0, -1))
        assert set(self.acknowledged) - completed == set(), "acknowledged, but not completed"
        left = {state: redis.lrange(key + state, 0, -1) for state in ("wait", "active")}
        assert left == {"wait": [], "active": []}
        assert redis.zrange(key + "failed", 0, -1) == []
        assert completed <= set(self.begun), "completed, but never run"
        assert self.duplicates <= duplicates, self.runs.most_common(5)
        twice = [job_id for job_id, count in completions(redis, queue).items() if count > 1]
        assert twice == [], "completed more than once"

    def _append(self, text: str) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def _facts(self) -> list[tuple[str, str]]:
        lines = self.path.read_text().splitlines()
        return [(word, value) for word, _, value in (line.partition(" ") for line in lines)]


def completions(redis: Redis, queue: str) -> Counter[str]:
    """Return how often each job was completed according to the queue's events."""
    entries = redis.xrange(f"bull:{queue}:events")
    return Counter(fields["jobId"] for _, fields in entries if fields["event"] == "completed")
