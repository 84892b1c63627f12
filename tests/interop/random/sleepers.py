"""Workers that sleep until a marker comes: does each step that makes a job ready wake one?

A worker takes the marker of a queue when it wakes, and sleeps on if there is nothing for it. `Sleepers` does the same
between two steps. So a step that makes a job ready has to set a marker, and one that does not is found at once, from
the keys: nobody has to wait for a timeout.
"""

from collections import Counter
from dataclasses import dataclass, field

from tests.interop.sides.pair import Pair, StateDiffers

from .steps import QUEUES

#: After these steps the worker that has ended the job asks for the next one by itself.
ASKS_NEXT = {"complete", "fail", "complete_many", "move_to_delayed", "move_to_waiting_children"}
#: These let a job start, if a global limit has held it, and wake nobody, as in BullMQ: a worker starts it when its wait
#: for a marker ends, after at most 5 s.
WAKES_NOBODY_IN_BULLMQ = {
    "clean",
    "remove",
    "remove_job",
    "remove_unprocessed_children",
    "obliterate",
    "remove_global_concurrency",
    "remove_rate_limit_key",
    "set_global_concurrency",
}


@dataclass
class Sleepers:
    """The sleeping workers of all queues of a pair.

    Attributes:
        asleep: how often a job was left to the time-out of a wait, by the step of BullMQ that did so.
        woken: how many markers were taken for nothing.
    """

    pair: Pair
    queues: tuple[str, ...] = QUEUES
    asleep: Counter[str] = field(default_factory=Counter)
    woken: int = 0
    #: Queues whose jobs wait for a time-out; the sleepers of others need a marker.
    _left: set[str] = field(default_factory=set)
    _held_up: set[str] = field(default_factory=set)

    def look(self, step: str) -> None:
        """Look at all queues after a step.

        Raises:
            StateDiffers: a job is ready, and nobody learns of it.
        """
        client = self.pair.clients[1]
        with client.pipeline(transaction=False) as pipe:
            for queue in self.queues:
                pipe.exists(self.pair.base(queue) + "marker")
            marked = dict(zip(self.queues, pipe.execute(), strict=True))
        for queue, is_marked in marked.items():
            ready = self._ready(queue)
            if ready and not is_marked:
                self._excuse(step, queue, ready)
            elif is_marked and not ready and not self._is_rate_limited(queue):
                self._take(queue)
            if not ready or is_marked:
                self._left.discard(queue)
            (self._held_up.discard if ready or not self._waiting(queue) else self._held_up.add)(queue)

    def _excuse(self, step: str, queue: str, ready: list[str]) -> None:
        if queue in self._left or step in ASKS_NEXT:
            pass
        elif step in WAKES_NOBODY_IN_BULLMQ and queue in self._held_up:
            self.asleep[step] += 1
        else:
            lines = [*self.pair.history, f"    nobody learns of the jobs {ready} of the queue {queue!r}"]
            raise StateDiffers("after\n" + "\n".join(lines))
        self._left.add(queue)

    def _ready(self, queue: str) -> list[str]:
        """Return the jobs that a worker would get now."""
        meta = self.pair.seen_value(queue, "meta", {})
        most = int(meta.get("concurrency", 0))
        if (
            "paused" in meta
            or self._is_rate_limited(queue)
            or (most and len(self.pair.seen_value(queue, "active", [])) >= most)
        ):
            return []
        return self._waiting(queue)

    def _waiting(self, queue: str) -> list[str]:
        listed = [job for job in self.pair.seen_value(queue, "wait", []) if not job.startswith("0:")]
        return [*listed, *self.pair.seen_value(queue, "prioritized", {})]

    def _is_rate_limited(self, queue: str) -> bool:
        """Tell whether workers wait for the end of a time that they know."""
        return self.pair.stem(queue) + "limiter" in self.pair.seen

    def _take(self, queue: str) -> None:
        self.woken += 1
        for client in self.pair.clients:
            client.delete(self.pair.base(queue) + "marker")
        self.pair.seen = {
            key: value for key, value in self.pair.seen.items() if key != self.pair.stem(queue) + "marker"
        }
