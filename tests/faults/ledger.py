"""The ledger of a fault test: what was acknowledged to the producer, and what handlers ran, in whichever process."""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from redis import Redis


class Ledger:
    """One line per fact, appended in one write, so that lines of killed processes are whole and none is lost."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.path.touch()

    def acknowledge(self, ids: Iterable[str]) -> None:
        """Note jobs whose add has returned: Redis owes them to us."""
        self._append("".join(f"added {job_id}\n" for job_id in ids))

    def begin(self, job_id: str) -> None:
        """Note that a handler has got a job."""
        self._append(f"began {job_id}\n")

    def end(self, job_id: str) -> None:
        """Note that a handler has returned."""
        self._append(f"ended {job_id}\n")

    def note(self, fact: str) -> None:
        """Note anything else a test wants to know, as a word and a value."""
        self._append(f"{fact}\n")

    @property
    def acknowledged(self) -> list[str]:
        return self.values("added")

    @property
    def begun(self) -> list[str]:
        """The job of every run, in order of their beginnings."""
        return self.values("began")

    @property
    def ended(self) -> list[str]:
        return self.values("ended")

    @property
    def duplicates(self) -> int:
        """How many runs there were beyond the first one of each job."""
        return len(self.begun) - len(set(self.begun))

    def values(self, fact: str) -> list[str]:
        return [value for word, value in self._facts() if word == fact]

    def check(self, redis: Redis, queue: str, *, duplicates: int) -> None:
        """Assert that every acknowledged job is completed, once, that nothing is left over, and how often jobs ran again."""
        key = f"bull:{queue}:"
        completed = set(redis.zrange(key + "completed", 0, -1))
        assert set(self.acknowledged) - completed == set(), "acknowledged, but not completed"
        left = {state: redis.lrange(key + state, 0, -1) for state in ("wait", "active")}
        assert left == {"wait": [], "active": []}
        assert redis.zrange(key + "failed", 0, -1) == []
        assert completed <= set(self.begun), "completed, but never run"
        assert self.duplicates <= duplicates, Counter(self.begun).most_common(5)
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
    """Return how often each job was completed, as everybody who reads the queue's events heard it."""
    entries = redis.xrange(f"bull:{queue}:events")
    return Counter(fields["jobId"] for _, fields in entries if fields["event"] == "completed")
