"""Faults while a fleet works: each kind once, each ends again."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from redis import Redis

from bullrush import Queue
from bullrush.embedded import EmbeddedRedis
from tests.faults.proxy import Proxy
from tests.interop.sides.node_process import NodeProcess
from tests.interop.sides.their_queue import TheirQueue
from tests.waiting import wait_until

from .fleet import KINDS, LOCK_MS, STALLED_INTERVAL_MS, Fleet
from .jobs import COMPLETED, ExpectedEnd

USER, PASSWORD = "ours", "secret"
ACL_RULES = f"user default on nopass ~* &* +@all\nuser {USER} on >{PASSWORD} ~* &* +@all\n"

#: Commands that our workers are denied, one after the other.
DENIED = ("evalsha", "bzpopmin", "hset", "zadd", "lpush", "lrem", "xadd", "sadd", "set", "del")
#: Seconds that a fault lasts when its effect is immediate.
MOMENT = 0.5


@dataclass
class FleetFaults:
    """Makes faults; each method returns when its fault is over."""

    fleet: Fleet
    server: EmbeddedRedis
    redis: Redis
    proxy: Proxy
    queue: Queue
    theirs: list[TheirQueue]
    #: How the jobs that were added for a fault must end, by ``queue:id``.
    expected_ends: dict[str, ExpectedEnd] = field(default_factory=dict)

    def refusals(self) -> list[Callable[[], None]]:
        """Return the faults in which Redis refuses our workers for a while."""
        return [self.commands_are_denied, self.the_password_is_wrong]

    def faults(self) -> list[Callable[[], None]]:
        """Return every other kind of fault."""
        return [
            self.processes_are_killed,
            self.processes_are_suspended,
            self.connections_are_cut,
            self.memory_is_full,
            self.scripts_are_flushed,
            self.the_server_crashes,
            self.jobs_end_their_process,
            self.a_key_of_a_job_is_damaged,
            self.the_queue_is_paused,
            self.the_rate_is_limited,
        ]

    def processes_are_killed(self) -> None:
        for kind in KINDS:
            self.fleet.kill(kind)
            self.fleet.start(kind)

    def processes_are_suspended(self) -> None:
        """Suspended for longer than their locks last: others do their jobs, and their own outcomes are refused."""
        for kind in KINDS:
            self.fleet.suspend(kind)
        time.sleep((LOCK_MS + 2 * STALLED_INTERVAL_MS) / 1000)
        for kind in KINDS:
            self.fleet.go_on(kind)

    def connections_are_cut(self) -> None:
        for break_all in (self.proxy.cut, self.proxy.reset) * 2:
            break_all()
            time.sleep(MOMENT)

    def memory_is_full(self) -> None:
        self.redis.config_set("maxmemory", 1)
        time.sleep(3 * MOMENT)
        self.redis.config_set("maxmemory", 0)

    def commands_are_denied(self) -> None:
        """For our workers only: BullMQ loses data when one of its scripts stops in the middle."""
        for command in DENIED:
            self._set_user(f"-{command}")
            time.sleep(MOMENT)
            self._set_user(f"+{command}")

    def the_password_is_wrong(self) -> None:
        self._set_user("resetpass", ">changed")
        self.redis.execute_command("CLIENT", "KILL", "USER", USER)
        time.sleep(3 * MOMENT)
        self._set_user("resetpass", f">{PASSWORD}")

    def scripts_are_flushed(self) -> None:
        self.redis.script_flush()
        self._renew_producers()

    def the_server_crashes(self) -> None:
        self.server.kill()
        self.server.restart()
        self._renew_producers()

    def jobs_end_their_process(self) -> None:
        ids = self._add_all(4, {"exits": True})
        wait_until(lambda: self.fleet.replace_crashed() or self._are_completed(ids), seconds=60)

    def a_key_of_a_job_is_damaged(self) -> None:
        """The job cannot be finished until the key is repaired."""
        (id,) = self._add_all(1, {}, delay=500)
        self.redis.set(f"bull:{self.queue.name}:{id}:dependencies", "no set")
        wait_until(lambda: self.fleet.runs()[f"{self.queue.name}:{id}"], seconds=30)
        time.sleep(MOMENT)
        self.redis.delete(f"bull:{self.queue.name}:{id}:dependencies")

    def the_queue_is_paused(self) -> None:
        self.queue.pause()
        time.sleep(MOMENT)
        self.queue.resume()

    def the_rate_is_limited(self) -> None:
        self.queue.set_global_rate_limit(20, 100)
        time.sleep(2 * MOMENT)
        self.queue.remove_global_rate_limit()
        self.queue.rate_limit(500)

    def _renew_producers(self) -> None:
        """Restart the Node producers: flows and bulks of BullMQ go in transactions, which load no missing script."""
        for old in {queue.node for queue in self.theirs}:
            old.close()
            new = NodeProcess(old.library, self.server.url)
            for queue in self.theirs:
                queue.node = new if queue.node is old else queue.node

    def _add_all(self, count: int, data: dict[str, Any], **opts: Any) -> list[str]:
        jobs = self.queue.add_bulk([{"name": "fault", "data": data, "opts": opts}] * count)
        ids = [job.id for job in jobs]
        self.expected_ends |= {f"{self.queue.name}:{id}": COMPLETED for id in ids}
        return ids

    def _are_completed(self, ids: list[str]) -> bool:
        return all(self.queue.get_job_state(id) == "completed" for id in ids)

    def _set_user(self, *rules: str) -> None:
        self.redis.execute_command("ACL", "SETUSER", USER, *rules)
