"""Adds jobs of every kind to a fleet's queues and remembers how each must end."""

from collections.abc import Iterator

from bullrush import Queue
from tests.interop.sides.results import snaked
from tests.interop.sides.their_queue import TheirQueue

from .jobs import JOBS_PER_FLOW, ExpectedEnd, expected_end_of_plain, expected_ends_of_flow, flow, plain_job

BATCH = 250


class FleetProducer:
    """Adds jobs that end in every way, from all sides, and remembers how each must end, by ``queue:id``."""

    def __init__(self, jobs: int, ours: list[Queue], theirs: list[TheirQueue], queues: list[str]) -> None:
        self.expected_ends: dict[str, ExpectedEnd] = {}
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
        """Add everything; yield the added share after each batch."""
        flows = 0
        for batch, first in enumerate(range(0, self._plain, BATCH)):
            numbers = range(first, min(first + BATCH, self._plain))
            ids = self._adders[batch % len(self._adders)]([plain_job(n) for n in numbers])
            self.expected_ends |= {
                f"{self._queues[0]}:{id}": expected_end_of_plain(n) for id, n in zip(ids, numbers, strict=True)
            }
            for n in range(flows, self._flows * numbers.stop // self._plain):
                self._theirs[n % 2 * 2].add_flow(flow(n, self._queues))
                self.expected_ends |= expected_ends_of_flow(n, self._queues)
                flows = n + 1
            yield numbers.stop / self._plain
