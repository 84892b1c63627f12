"""Adds jobs of every kind to a fleet's queues and remembers how each must end."""

from collections.abc import Callable, Iterator
from typing import Any

from bullrush import FlowProducer, Queue
from tests.interop.sides.results import snaked
from tests.interop.sides.their_queue import TheirQueue

from .jobs import JOBS_PER_FLOW, ExpectedEnd, expected_end_of_plain, expected_ends_of_flow, flow, plain_job

BATCH = 250


class FleetProducer:
    """Adds jobs that end in every way, from all sides, and remembers how each must end, by ``queue:id``.

    Args:
        jobs: how many, with those of flows.
        ours: both queues, used by us; empty: only BullMQ adds.
        theirs: both queues, used by one process of Node, then by another one.
        queues: their names.
        flows: adds every third flow; without it only BullMQ adds flows.
        job_of: makes the jobs that belong to no flow.
        batch: how many of these are added at once.
    """

    def __init__(
        self,
        jobs: int,
        ours: list[Queue],
        theirs: list[TheirQueue],
        queues: list[str],
        *,
        flows: FlowProducer | None = None,
        job_of: Callable[[int], dict[str, Any]] = plain_job,
        batch: int = BATCH,
    ) -> None:
        self.expected_ends: dict[str, ExpectedEnd] = {}
        self._flows = jobs // 33
        self._plain = jobs - self._flows * JOBS_PER_FLOW
        self._queues = queues
        self._job_of = job_of
        self._batch = batch

        def add(jobs: list[dict[str, Any]]) -> list[str]:
            return [job.id for job in ours[0].add_bulk([{**job, "opts": snaked(job["opts"])} for job in jobs])]

        self._adders = [
            *([add] if ours else []),
            lambda jobs: [job["id"] for job in theirs[0].call("addBulk", jobs)],
            lambda jobs: [job["id"] for job in theirs[2].call("addBulk", jobs)],
        ]
        self._flow_adders: list[Callable[[dict[str, Any]], object]] = [
            lambda flow: theirs[0].add_flow(flow),
            lambda flow: theirs[2].add_flow(flow),
            *([lambda flow: flows.add(snaked(flow))] if flows else []),
        ]

    def run(self) -> Iterator[float]:
        """Add everything; yield the added share after each batch."""
        flows = 0
        for batch, first in enumerate(range(0, self._plain, self._batch)):
            numbers = range(first, min(first + self._batch, self._plain))
            ids = self._adders[batch % len(self._adders)]([self._job_of(n) for n in numbers])
            self.expected_ends |= {
                f"{self._queues[0]}:{id}": expected_end_of_plain(n) for id, n in zip(ids, numbers, strict=True)
            }
            for n in range(flows, self._flows * numbers.stop // self._plain):
                self._flow_adders[n % len(self._flow_adders)](flow(n, self._queues))
                self.expected_ends |= expected_ends_of_flow(n, self._queues)
                flows = n + 1
            yield numbers.stop / self._plain
