"""Is somebody awake while jobs are ready? A thread looks at the queue of a round, again and again.

A worker sleeps until a marker comes. So while a job is ready there must be a marker, a job in hand (who ends it asks
for the next one), or a worker that does not sleep. A fault may take a marker with it, when it hits a worker between the
marker and the fetch. Nothing else may.
"""

import base64
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redis import Redis, RedisError

if TYPE_CHECKING:
    from .happened import Happened
    from .round import Round

LOOK_SECONDS = 0.1
#: What a fault has done is seen so much (s) after it, at the latest.
AFTER_SECONDS = 0.5

#: How many jobs are ready while nothing in the keys wakes a worker: neither a marker nor a job in hand. 0 if workers
#: wait for the end of a pause or of a limit.
_READY = """
    local base = KEYS[1]
    if redis.call("EXISTS", base .. "marker", base .. "limiter") > 0 or
        redis.call("HEXISTS", base .. "meta", "paused") == 1 then
        return 0
    end
    for _, job in ipairs(redis.call("LRANGE", base .. "active", 0, -1)) do
        if redis.call("EXISTS", base .. job .. ":lock") == 1 then
            return 0
        end
    end
    return redis.call("LLEN", base .. "wait") + redis.call("ZCARD", base .. "prioritized")
"""


@dataclass(frozen=True)
class Asleep:
    """Jobs were ready, and all workers slept: seen at a time, after a look at which it was not so (monotonic s)."""

    awake: float
    seen: float
    jobs: int
    workers: int

    def is_explained(self, happened: "list[Happened]") -> bool:
        """Whether a fault may have taken the marker."""
        return any(fault.began <= self.seen and self.awake <= fault.ended + AFTER_SECONDS for fault in happened)


class Awake(threading.Thread):
    """Looks at the queue of a round until it ends."""

    def __init__(self, round: "Round") -> None:
        super().__init__(daemon=True)
        self._round, self._over = round, threading.Event()
        self.looks = 0
        self.asleep: list[Asleep] = []
        self.start()

    def run(self) -> None:
        awake, sleeps = time.monotonic(), False
        while not self._over.wait(LOOK_SECONDS):
            now = time.monotonic()
            try:
                jobs, workers = look(self._round.topology.redis, self._round.queue)
            except (RedisError, OSError, LookupError, ValueError):
                continue  # a fault: what it has done is seen by the next look
            self.looks += 1
            if not (jobs and workers):
                awake, sleeps = now, False
            elif not sleeps:
                self.asleep.append(Asleep(awake, time.monotonic(), jobs, workers))
                sleeps = True

    def end(self) -> None:
        self._over.set()
        self.join(30)


def look(redis: "Redis[Any]", queue: str) -> tuple[int, int]:
    """Return how many jobs are ready without a marker, and how many workers sleep if all do, else 0."""
    with redis.pipeline(transaction=True) as pipe:  # so that both are of one moment
        pipe.eval(_READY, 1, f"bull:{queue}:")
        pipe.client_list()
        jobs, clients = pipe.execute()
    name = "bull:" + base64.b64encode(queue.encode()).decode()
    flags = [client["flags"] for client in clients if client["name"].partition(":w:")[0] == name]
    return jobs, len(flags) if all("b" in some for some in flags) else 0
