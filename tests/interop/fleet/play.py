"""One play of a fleet: jobs of every kind flow in while steps change the fleet; at the end all must be right."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from redis import Redis

from bullrush import FlowProducer, Queue
from tests.interop.peers import Peer
from tests.interop.sides.node_process import NodeError, NodeProcess
from tests.interop.sides.results import snaked
from tests.interop.sides.their_queue import TheirQueue
from tests.waiting import wait_until

from .final_state import FinalState
from .fleet import ALL_EVENTS, Fleet
from .jobs import COMPLETED, job_with_twins
from .producer import BATCH, FleetProducer

QUEUES = ["fleet", "fleet-b"]
#: The queue and the rule of each scheduler of Node's producers and, if we take part, of ours.
THEIR_SCHEDULERS = {"theirs": (0, {"every": 700}), "seconds": (1, {"pattern": "* * * * * *"})}
OUR_SCHEDULERS = {"ours": (0, {"every": 700})}

#: So many jobs may have no outcome before more are added: each version must work all the time.
BACKLOG = 1_500
#: Nobody is killed here, so no job has to stall; on a busy machine one would with a shorter lock.
LOCK_MS = 30_000
#: Jobs of which none ends for so many seconds are stuck.
STUCK = 60

#: Keys of a queue that are there when all jobs have ended.
_OF_A_QUEUE = frozenset({"meta", "id", "events", "completed", "failed", "pc", "marker", "stalled-check", "stalled"})
#: What a job that has ended keeps.
_OF_A_JOB = frozenset({"processed", "failed", "unsuccessful"})

#: BullMQ 6 does that when a slot of a pattern passes while it writes the scheduler: the job of the slot runs again.
WRITTEN_OVER = "written over by an upsert of BullMQ after their start"

_SLOT_IS_TAKEN = -10

Step = Callable[[], None]


@dataclass(frozen=True)
class Outcome:
    """What became of a play.

    Attributes:
        jobs: how many there were.
        runs: how many runs each kind of worker began.
        replaced: how many processes were replaced.
        pauses: how often a queue was paused.
        seconds: how long it took.
        violations: what was wrong, by its kind.
    """

    jobs: int
    runs: dict[str, int]
    replaced: int
    pauses: int
    seconds: int
    violations: dict[str, list[Any]]


class Play:
    """A fleet with its producers.

    Args:
        url: a server of which nobody else uses the queues.
        folder: for what the processes write.
        node: the version of Node's workers, of which one is started for each.
        producers: the versions of the two producers of Node.
        our_workers: the kinds of our workers; without any, bullrush takes no part.
        patience: seconds without an end of a job after which those that are left are stuck.
    """

    def __init__(
        self,
        url: str,
        folder: Path,
        node: Sequence[Peer],
        producers: Sequence[Peer],
        our_workers: Sequence[str] = (),
        *,
        patience: float = STUCK,
    ) -> None:
        self._url = url
        self._patience = patience
        self._kinds = [*(peer.library for peer in node), *our_workers]
        self.fleet = Fleet(url, QUEUES, folder, lock_ms=LOCK_MS)
        self.redis = Redis.from_url(url, decode_responses=True)
        self.theirs = [
            TheirQueue(process, queue, ALL_EVENTS)
            for process in [NodeProcess(peer.library, url) for peer in producers]
            for queue in QUEUES
        ]
        self.ours = [self._our_queue(queue) for queue in QUEUES] if our_workers else []
        self._replaced = self._pauses = 0
        self._upserts: list[tuple[int, int]] = []
        self._paused = False

    def __enter__(self) -> "Play":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.fleet.end()
        for node in {queue.node for queue in self.theirs}:
            node.close()
        for queue in self.ours:
            queue.close()
        self.redis.close()

    # --- steps

    def replace_worker(self, old: Peer, new: Peer) -> None:
        """Replace the oldest worker of a version."""
        self.fleet.replace(old.library, new.library)
        self._replaced += 1

    def replace_producer(self, number: int, new: Peer) -> None:
        """Replace a producer of Node; as programs do at their start, the new one writes its schedulers."""
        node = NodeProcess(new.library, self._url)
        queues = self.theirs[number * len(QUEUES) :][: len(QUEUES)]
        queues[0].node.close()
        for queue in queues:
            queue.node = node
        self._write_their_schedulers(queues)
        self._replaced += 1

    @property
    def handles(self) -> list[Queue | TheirQueue]:
        """The first queue, as each producer of Node has it, and then as we do."""
        return [*self.theirs[:: len(QUEUES)], *self.ours[:1]]

    def pause(self, handle: int) -> None:
        """Pause the first queue by one of its handles."""
        by = self.handles[handle]
        by.pause() if isinstance(by, Queue) else by.call("pause")
        self._pauses += 1
        self._paused = True

    def resume(self, handle: int) -> None:
        """Resume it by one of its handles."""
        by = self.handles[handle]
        by.resume() if isinstance(by, Queue) else by.call("resume")
        self._paused = False

    # --- the play

    def run(self, jobs: int, steps: Sequence[Step]) -> Outcome:
        """Add jobs, make a step after each equal share of them, wait for all ends, and return what was wrong."""
        began = time.monotonic()
        for kind in self._kinds:
            self.fleet.start(kind)
        for number in range(0, len(self.theirs), len(QUEUES)):
            self._write_their_schedulers(self.theirs[number:])
        for id, (queue, rule) in OUR_SCHEDULERS.items() if self.ours else ():
            self.ours[queue].upsert_job_scheduler(id, rule)
        with ExitStack() as stack:
            flows = stack.enter_context(FlowProducer(url=self._url)) if self.ours else None
            batch = min(BATCH, max(10, jobs // (2 * len(steps))))
            producer = FleetProducer(
                jobs, self.ours, self.theirs, QUEUES, flows=flows, job_of=job_with_twins, batch=batch
            )
            made = 0
            for progress in producer.run():
                while made < progress * len(steps):
                    steps[made]()
                    made += 1
                self._renew_handles()
                self._wait_for_workers()
        violations = self._end_schedulers()
        stuck = self._wait_for_ends()
        self.fleet.stop()
        violations |= self._violations(producer)
        if stuck:
            violations["stuck"] = [stuck]
        kinds = dict(sorted(self.fleet.runs_by_kind().items()))
        seconds = round(time.monotonic() - began)
        return Outcome(len(producer.expected_ends), kinds, self._replaced, self._pauses, seconds, violations)

    def _renew_handles(self) -> None:
        """Make a new `Queue` on each side, as programs do all the time: each one of Node writes its version."""
        for queue in self.theirs[:: len(QUEUES)]:
            queue.close()
        for number, queue in enumerate(self.ours):
            queue.close()
            self.ours[number] = self._our_queue(queue.name)

    def _our_queue(self, name: str) -> Queue:
        return Queue(name, url=self._url, **snaked(ALL_EVENTS))

    def _wait_for_workers(self) -> None:
        if not self._paused:
            wait_until(lambda: sum(self.fleet.undone(self.redis).values()) < BACKLOG, seconds=5 * STUCK, pause=0.05)

    def _write_their_schedulers(self, queues: Sequence[TheirQueue]) -> None:
        began = self._now()
        for id, (queue, rule) in THEIR_SCHEDULERS.items():
            wait_until(partial(_is_upserted, queues[queue], id, rule), seconds=STUCK)
        self._upserts.append((began, self._now()))

    def _now(self) -> int:
        seconds, microseconds = self.redis.time()
        return seconds * 1_000 + microseconds // 1_000

    def _end_schedulers(self) -> dict[str, list[Any]]:
        """Remove all schedulers; those that make no more jobs are a violation."""
        schedulers = {**THEIR_SCHEDULERS, **(OUR_SCHEDULERS if self.ours else {})}
        stopped = []
        for id, (queue, _) in schedulers.items():
            try:
                wait_until(partial(self._has_next_job, id, QUEUES[queue]), seconds=self._patience)
            except AssertionError:
                stopped.append((id, self.redis.hgetall(f"bull:{QUEUES[queue]}:repeat:{id}")))
            self.theirs[queue].call("removeJobScheduler", id)
        return {"schedulers without a next job": stopped} if stopped else {}

    def _has_next_job(self, scheduler: str, queue: str) -> bool:
        delayed = self.redis.zrange(f"bull:{queue}:delayed", 0, -1)
        return any(job.startswith(f"repeat:{scheduler}:") for job in delayed)

    def _wait_for_ends(self) -> dict[str, int]:
        """Wait until all jobs have ended, or none does for a while; return what is left."""
        left, since = self.fleet.undone(self.redis), time.monotonic()
        while left and time.monotonic() - since < self._patience:
            time.sleep(0.2)
            before, left = left, self.fleet.undone(self.redis)
            since = since if left == before else time.monotonic()
        return left

    def _violations(self, producer: FleetProducer) -> dict[str, list[Any]]:
        final = FinalState(self.redis, QUEUES)
        runs = self.fleet.runs()
        written_over = []
        for job in [job for job in final.added if ":repeat:" in job]:
            moments = final.added_again[job]
            if moments and all(any(began <= at <= ended for began, ended in self._upserts) for at in moments):
                written_over.append((job, moments))
                final.leave_out(job)
            elif final.jobs[job] or runs[job]:
                # A scheduler that is written again takes its next job away, and may add it again.
                final.added[job] = 1
                producer.expected_ends[job] = COMPLETED
            else:
                final.leave_out(job)
        found = final.violations(producer.expected_ends, self.fleet, self.redis)
        if written_over:
            found[WRITTEN_OVER] = written_over
        keys = [key for queue in QUEUES for key in self.redis.scan_iter(f"bull:{queue}:*", count=10_000)]
        if strange := [key for key in keys if not self._belongs(key, final)]:
            found["keys that should be gone"] = strange
        return found

    def _belongs(self, key: str, final: FinalState) -> bool:
        """Return whether a key may be there when all jobs have ended."""
        queue, rest = key.removeprefix("bull:").split(":", 1)
        if rest in _OF_A_QUEUE:
            return True
        id, _, part = rest.rpartition(":")
        if final.jobs.get(f"{queue}:{rest}") or (part in _OF_A_JOB and final.jobs.get(f"{queue}:{id}")):
            return True
        # A key of deduplication outlives its job only with a time to live.
        return id == "de" and self.redis.ttl(key) >= 0


def _is_upserted(queue: TheirQueue, id: str, rule: dict[str, Any]) -> bool:
    """Upsert a scheduler; return false if the slot has just passed, so that a program must try again."""
    try:
        queue.call("upsertJobScheduler", id, rule)
    except NodeError as error:
        if error.code != _SLOT_IS_TAKEN:
            raise
        return False
    return True
