"""Is a worker awake while jobs are ready? A thread looks at the queue of a round, again and again.

A worker that has room sleeps until a marker comes. So while a job is ready and such a worker sleeps, there is a marker:
whoever has taken it fetches, and sets it again if jobs are left. A fault may take a marker with it, when it hits a
worker between the marker and the fetch. Nothing else may.
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
#: From the marker to the fetch a worker takes less than this, without what the machine takes.
FETCH_SECONDS = 1.0
#: What a fault has done is seen so much (s) before and after it, at most.
NEAR_SECONDS = 0.5

#: The ready job that came first, and how many are ready, if there is no marker. Nothing if workers wait for the end of
#: a pause or of a limit.
_READY = """
    local base = KEYS[1]
    if redis.call("EXISTS", base .. "marker", base .. "limiter") > 0 or
        redis.call("HEXISTS", base .. "meta", "paused") == 1 then
        return {}
    end
    local first = redis.call("LINDEX", base .. "wait", -1) or redis.call("ZRANGE", base .. "prioritized", 0, 0)[1]
    return {first, redis.call("LLEN", base .. "wait") + redis.call("ZCARD", base .. "prioritized")}
"""


@dataclass(frozen=True)
class Asleep:
    """A job was ready for long, and workers that had room slept: times of the round's clock, in s.

    Attributes:
        awake: the last look at which it was not so.
        began: the first look at which it was.
        jobs: how many jobs were ready.
        workers: how many workers slept.
    """

    awake: float
    began: float
    jobs: int
    workers: int

    def is_explained(self, happened: "list[Happened]") -> bool:
        """Whether a fault may have taken the marker."""
        return any(
            fault.began - NEAR_SECONDS <= self.began and self.awake <= fault.ended + NEAR_SECONDS for fault in happened
        )


class Awake(threading.Thread):
    """Looks at the queue of a round until it ends."""

    def __init__(self, round: "Round") -> None:
        super().__init__(daemon=True)
        self._round, self._over = round, threading.Event()
        self.looks = 0
        self.asleep: list[Asleep] = []
        self.start()

    def run(self) -> None:
        awake, known, began, is_noted = time.monotonic(), None, 0.0, False
        while not self._over.wait(LOOK_SECONDS):
            now = time.monotonic()
            try:
                first, jobs, workers = look(self._round.topology.redis, self._round.queue)
            except (RedisError, OSError, LookupError, ValueError):
                continue  # a fault: what it has done is seen by the next look
            self.looks += 1
            if not (first and workers):
                awake, known = now, None
            elif first != known:
                awake, known, began, is_noted = (now if known else awake), first, now, False
            elif not is_noted and now - began - self._round.heartbeat.lost(began, now) > FETCH_SECONDS:
                self.asleep.append(Asleep(awake, began, jobs, workers))
                is_noted = True

    def end(self) -> None:
        self._over.set()
        self.join(30)


def look(redis: "Redis[Any]", queue: str) -> tuple[str | None, int, int]:
    """Return which job is the next and how many are ready, if there is no marker, and how many workers sleep."""
    with redis.pipeline(transaction=True) as pipe:  # so that all is of one moment
        pipe.eval(_READY, 1, f"bull:{queue}:")
        pipe.client_list()
        ready, clients = pipe.execute()
    name = "bull:" + base64.b64encode(queue.encode()).decode()
    own = [client for client in clients if client["name"].partition(":w:")[0] == name]
    first, jobs = ready or (None, 0)
    return first, jobs, sum("b" in client["flags"] for client in own)
