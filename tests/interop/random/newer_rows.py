"""Steps that a newer BullMQ does otherwise, by the table of newer.py: each is played otherwise, or left out.

A method tells, from the state before the step, whether the row of its name is about that step. Without the row the step
is played as all others, so a row that goes is compared again.
"""

from dataclasses import dataclass
from typing import Any

from tests.interop.newer import differs
from tests.interop.sides.pair import Pair

#: The name of a step that is not played.
LEFT_OUT = "left out"


@dataclass(frozen=True)
class NewerRows:
    """The rows about the BullMQ of a pair.

    Where it does otherwise than bullrush, but nothing wrong, it does the step on both sides (``foreign_``), and the
    sequence goes on from there. A step after which its own keys do not fit together is left out.
    """

    pair: Pair

    def upsert_scheduler(self, queue: str, id: str, repeat: dict[str, Any]) -> str:
        """Return the name of the step that upserts a scheduler."""
        latest = self.pair.seen_value(queue, "repeat", {}).get(id)
        if latest is None:
            return "upsert_scheduler"
        waits_in = self._place_of(queue, f"repeat:{id}:{latest:.0f}")
        if (
            self._differs("a scheduler with another rule in a paused queue")
            and waits_in == "wait"
            and "paused" in self.pair.seen_value(queue, "meta", {})
        ):
            return LEFT_OUT
        every = self.pair.seen_value(queue, f"repeat:{id}", {}).get("every")
        restarts = self._differs("a scheduler with another rule") and every != str(repeat.get("every"))
        if (
            (restarts or self._differs("a pattern that fires in a slot whose job has finished"))
            and waits_in
            and "pattern" in repeat
            and self._has_later_job(queue, id, latest)
        ):
            return LEFT_OUT
        return "foreign_upsert_scheduler" if restarts else "upsert_scheduler"

    def fetching(self, step: str, queue: str) -> str:
        """Return the name of a step that fetches a job."""
        if self._differs("intervals that were missed") and self._skips_to_offset(queue):
            return f"foreign_{step}"
        if self._differs("a job that must fail when it is fetched") and step == "fetch" and self._must_fail(queue):
            return f"foreign_{step}"
        return step

    def fails_with_backoff(self, queue: str, id: str) -> bool:
        """Tell whether a job that fails is delayed, and the call must not fetch another one."""
        job = self.pair.seen_value(queue, id, {})
        opts = job.get("opts", {})
        return (
            self._differs("a failure with a backoff")
            and bool(opts.get("backoff"))
            and int(job.get("atm", 0)) + 1 < opts.get("attempts", 0)
        )

    def _differs(self, row: str) -> bool:
        return differs(row, self.pair.on("").foreign.node.version)

    def _place_of(self, queue: str, id: str) -> str | None:
        """Return where a job waits."""
        places = ("wait", "paused", "delayed", "prioritized")
        return next((place for place in places if id in self.pair.seen_value(queue, place)), None)

    def _has_later_job(self, queue: str, id: str, latest: float) -> bool:
        """Tell whether a scheduler has a job for now or later beside its latest one."""
        stem = self.pair.stem(queue) + f"repeat:{id}:"
        slots = (key.removeprefix(stem) for key in self.pair.seen if key.startswith(stem))
        return any(slot.isdigit() and latest != int(slot) >= self._now for slot in slots)

    def _skips_to_offset(self, queue: str) -> bool:
        """Tell whether a scheduler has missed a slot, and the next one of its grid is nearer than one interval."""
        for id, latest in self.pair.seen_value(queue, "repeat", {}).items():
            rule = self.pair.seen_value(queue, f"repeat:{id}", {})
            every = int(rule.get("every", 0))
            if every and latest + every < self._now and int(rule.get("offset", 0)) > self._now % every:
                return True
        return False

    def _must_fail(self, queue: str) -> bool:
        jobs = (id for place in ("wait", "prioritized", "delayed") for id in self.pair.seen_value(queue, place))
        return any("defa" in self.pair.seen_value(queue, id, {}) for id in jobs)

    @property
    def _now(self) -> int:
        assert self.pair.now is not None
        return self.pair.now
