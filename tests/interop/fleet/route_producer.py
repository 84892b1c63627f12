"""Adds jobs of every kind to a base queue and its routes, from both sides, and remembers how each must end."""

from collections.abc import Iterator
from typing import Any

from bullrush import FlowProducer, Queue
from tests.interop.sides.results import snaked
from tests.interop.sides.their_queue import TheirQueue

from .jobs import COMPLETED, ExpectedEnd, expected_end_of_plain, plain_job
from .routes import TARGETS, Fields

BATCH = 205
JOBS_PER_FLOW = 4
ITERATIONS = 10
#: One scheduler on the base, two on routes.
SCHEDULED: tuple[Fields | None, ...] = (None, TARGETS[4], TARGETS[29])


def target_of(n: int) -> Fields | None:
    """Return the target of a job: each in turn, then none."""
    return [*TARGETS, None][n % (len(TARGETS) + 1)]


def flow(n: int, base: str) -> dict[str, Any]:
    """Return a tree whose four jobs have four targets."""

    def node(name: str, target: Fields | None, *children: dict[str, Any]) -> dict[str, Any]:
        return {
            "name": "node",
            "queue_name": base,
            "data": {"n": n},
            "opts": {"job_id": f"flow{n}-{name}", "target": target},
            "children": list(children),
        }

    at = [target_of(n + 13 * place) for place in range(4)]
    return node("root", at[0], node("middle", at[1], node("leaf", at[2])), node("other", at[3]))


class RouteFleetProducer:
    """Adds jobs; `expected_ends` says how each must end, by ``queue:id``.

    Args:
        jobs: how many, with those of flows and without those of schedulers.
        ours: the base queue.
        theirs: the base queue and one route by their names, used by BullMQ.
        flows: adds trees.
    """

    def __init__(self, jobs: int, ours: Queue, theirs: dict[str, TheirQueue], flows: FlowProducer) -> None:
        self.expected_ends: dict[str, ExpectedEnd] = {}
        self._ours = ours
        self._theirs = theirs
        self._flows = flows
        self._flow_count = jobs // 40
        self._plain = jobs - self._flow_count * JOBS_PER_FLOW

    def add_schedulers(self) -> None:
        """Add one job scheduler for each target of `SCHEDULED`."""
        for number, target in enumerate(SCHEDULED):
            every = {"every": 200, "limit": ITERATIONS}
            template = {"name": "tick", "data": {"n": number}, "opts": {"target": target}}
            self._ours.upsert_job_scheduler(f"every{number}", every, template)

    def run(self) -> Iterator[float]:
        """Add everything; yield the added share after each batch."""
        flows = 0
        for batch, first in enumerate(range(0, self._plain, BATCH)):
            numbers = range(first, min(first + BATCH, self._plain))
            for n, job in zip(numbers, self._add(batch, list(numbers)), strict=True):
                self.expected_ends[job] = expected_end_of_plain(n)
            stop = self._flow_count * numbers.stop // self._plain
            trees = [flow(n, self._ours.name) for n in range(flows, stop)]
            for tree in self._flows.add_bulk(trees):
                self._expect(tree)
            flows = stop
            yield numbers.stop / self._plain

    def _add(self, batch: int, numbers: list[int]) -> list[str]:
        """Add plain jobs, every fifth batch from Node, and return where they are, as ``queue:id``."""
        if batch % 5 < 3:
            made = [(plain_job(n), target_of(n)) for n in numbers]
            jobs = [{**job, "opts": {**snaked(job["opts"]), "target": target}} for job, target in made]
            return [f"{job.queue_name}:{job.id}" for job in self._ours.add_bulk(jobs)]
        name, queue = list(self._theirs.items())[batch % 2]
        return [f"{name}:{job['id']}" for job in queue.call("addBulk", [plain_job(n) for n in numbers])]

    def _expect(self, node: Any) -> None:
        self.expected_ends[f"{node.job.queue_name}:{node.job.id}"] = COMPLETED
        for child in node.children or ():
            self._expect(child)
