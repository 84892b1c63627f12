"""A queue for jobs that may end in any way: damaged ones, poison, and those whose replies are changed on the way."""

import threading
from typing import TYPE_CHECKING, Any

from .ending import undone
from .processes import Process

if TYPE_CHECKING:
    from .round import Round


class OddQueue:
    """The queue and its worker. Each of its jobs must have an outcome in the end, and be in one list."""

    def __init__(self, round: "Round") -> None:
        self._round = round
        self.queue = f"{round.queue}-odd"
        self.process: Process | None = None
        self.expected: dict[str, str | None] = {}
        self._lock = threading.Lock()
        self._any_outcome = False

    @property
    def name(self) -> str:
        return self.process.name if self.process else ""

    def start(self) -> None:
        self.process = self._round.processes.start_worker("sync", "odd", queue=self.queue, max_stalled_count=1)

    def add(
        self, data: dict[str, Any], *, expected: str | None = None, damage: tuple[str, str | None] | None = None
    ) -> str:
        """Add a job and return its id.

        Args:
            data: its data.
            expected: the outcome that it must have, None for any.
            damage: a field of its hash and what it becomes, None for its removal. The worker may be faster.
        """
        with self._lock:
            key = f"odd-{len(self.expected)}"
            self.expected[key] = None if self._any_outcome else expected
        self._round.add_raw(self.queue, [({"k": key, "ms": 0, **data}, key)])
        if damage:
            field, value = damage
            name = f"bull:{self.queue}:{key}"
            self._round.topology.retried(
                lambda redis: redis.hset(name, field, value) if value is not None else redis.hdel(name, field)
            )
        return key

    def allow_any_outcome(self, on: bool) -> None:
        """Expect no certain outcome of jobs that run from now on, since their data may change on the way."""
        with self._lock:
            self._any_outcome = on
            keys = [key for key, expected in self.expected.items() if on and expected]
        for key in keys:
            if self.state(key) is None:
                self.expected[key] = None

    def state(self, key: str) -> str | None:
        """Return ``completed`` or ``failed``, None if it is undone or Redis does not answer."""
        for state in ("completed", "failed"):
            if (
                self._round.topology.retried(lambda redis, state=state: redis.zscore(f"bull:{self.queue}:{state}", key))
                is not None
            ):
                return state
        return None

    def _is_gone(self, key: str) -> bool:
        """Return whether no server has the job; the damage may have come later, and made a hash of one field."""
        fields = ("data", "opts")
        return not any(self._round.topology.retried(lambda redis: redis.hmget(f"bull:{self.queue}:{key}", fields)))

    def undone(self) -> list[str]:
        return list(self._round.topology.retried(lambda redis: undone(redis, self.queue)))

    def wrong(self) -> list[str]:
        """Return what is wrong with the outcomes. An unplanned failover may lose a job: then its hash is gone."""
        found = []
        may_lose = any(fault.may_lose for fault in self._round.happened)
        for key, expected in self.expected.items():
            state = self.state(key)
            if state is None and may_lose and self._is_gone(key):
                self._round.findings.lost += 1
            elif state is None:
                found.append(f"the odd job {key} has no outcome")
            elif expected and state != expected:
                found.append(f"the odd job {key} is {state}, not {expected}")
        return found
