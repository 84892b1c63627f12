"""The upkeep of workers: stalled checks and lock renewals. Measured on the server, where they delay others."""

from __future__ import annotations

import time
from dataclasses import dataclass

from benches.harness.contender import Figure
from benches.harness.measuring import Measurement
from benches.harness.payload import NAME
from benches.harness.peer import PeerError
from benches.harness.stage import Stage
from bullrush import Queue

SERVER_MS = Figure("server_ms", "server ms per pass", digits=1)
SERVER_CORE = Figure("server_core", "server, % of a core", digits=2)
CLIENT_CORE = Figure("client_core", "client, % of a core", digits=2)

#: Moves all waiting jobs to active, with the locks of a worker that is alive or without any.
_CLAIM = """
local queue = KEYS[1]
local jobs = redis.call('LRANGE', queue .. ':wait', 0, -1)
redis.call('RENAME', queue .. ':wait', queue .. ':active')
for _, id in ipairs(jobs) do
  redis.call('HSET', queue .. ':' .. id, 'processedOn', ARGV[1], 'ats', 1)
  if ARGV[2] == 'healthy' then redis.call('SET', queue .. ':' .. id .. ':lock', 'bench', 'PX', 600000) end
end
return #jobs
"""
_INTERVAL = 1_000
#: Seconds between two renewals with the defaults: a lock of 30 seconds, renewed after half of it.
_RENEWED_EVERY = 15
_MAX_SECONDS = 60.0


@dataclass(frozen=True)
class StalledCheck:
    """A worker looks for stalled jobs while all jobs are active and it takes none itself: the queue is paused.

    Attributes:
        stalled: no worker has the jobs; otherwise all have valid locks.
        passes: how many checks are measured if there is nothing to recover.
    """

    stalled: bool
    passes: int = 4

    def measure(self, stage: Stage) -> Measurement:
        """Let the contender check, and read the cost from the server."""
        self._claim(stage)
        worker = stage.peers[0]
        with stage.limited():
            stage.prepare(worker, {"interval": _INTERVAL})
            meter = stage.meter()
            worker.go()
            if self.stalled:
                self._wait_for_recovery(stage)
            else:
                time.sleep(self.passes * _INTERVAL / 1000)
            found = meter.read(stage.jobs)
            worker.stop()
            worker.done()
        recovered = stage.jobs - int(stage.server.command("LLEN", f"bull:{stage.queue}:active"))
        if recovered != (stage.jobs if self.stalled else 0):
            raise PeerError(f"{stage.contender.name} recovered {recovered} of {stage.jobs} jobs")
        passes = 1 if self.stalled else self.passes
        found.more.update(server_ms=found.server_us * found.jobs / 1000 / passes)
        return found

    def _claim(self, stage: Stage) -> None:
        with Queue(stage.queue, url=stage.server.url) as queue:
            queue.add_bulk({"name": NAME, "data": {}} for _ in range(stage.jobs))
            queue.pause()
        condition = "stalled" if self.stalled else "healthy"
        key = f"bull:{stage.queue}"
        if stage.server.command("EXISTS", f"{key}:paused"):
            stage.server.command("RENAME", f"{key}:paused", f"{key}:wait")
        claimed = stage.server.command("EVAL", _CLAIM, 1, key, time.time_ns() // 1_000_000, condition)
        assert claimed == stage.jobs

    def _wait_for_recovery(self, stage: Stage) -> None:
        began = time.monotonic()
        while stage.server.command("LLEN", f"bull:{stage.queue}:active"):
            if time.monotonic() - began > _MAX_SECONDS:
                raise PeerError(f"{stage.contender.name} does not recover all stalled jobs")
            time.sleep(0.05)


@dataclass(frozen=True)
class Heartbeat:
    """A worker holds all jobs and does nothing but renew their locks.

    Attributes:
        lock_duration: milliseconds; BullMQ renews after half of it.
        beats: how many renewals of all locks are measured.
    """

    lock_duration: int = 10_000
    beats: int = 2

    def measure(self, stage: Stage) -> Measurement:
        """Wait until the worker has all jobs, then measure the server during some renewals."""
        stage.fill(stage.queue, stage.jobs)
        worker = stage.peers[0]
        with stage.limited():
            stage.prepare(worker, {"concurrency": stage.jobs, "lock_duration": self.lock_duration})
            worker.go()
            self._wait_until_held(stage)
            meter = stage.meter()
            time.sleep(self.beats * self.lock_duration / 2000)
            found = meter.read(stage.jobs * self.beats)
            self._check(stage)
            percent = stage.jobs / _RENEWED_EVERY / 1e6 * 100
            found.more.update(
                server_ms=found.server_us * stage.jobs / 1000,
                server_core=found.server_us * percent,
                client_core=found.client_us * percent,
            )
            worker.stop()
            worker.done()
        return found

    def _wait_until_held(self, stage: Stage) -> None:
        began = time.monotonic()
        while int(stage.server.command("LLEN", f"bull:{stage.queue}:active")) < stage.jobs:
            if time.monotonic() - began > _MAX_SECONDS:
                raise PeerError(f"{stage.contender.name} does not take all jobs")
            time.sleep(0.05)
        time.sleep(self.lock_duration / 2000)

    def _check(self, stage: Stage) -> None:
        locks = stage.server.command(
            "EXISTS", *(f"bull:{stage.queue}:{number + 1}:lock" for number in range(stage.jobs))
        )
        if locks != stage.jobs:
            raise PeerError(f"{stage.contender.name} let {stage.jobs - locks} of {stage.jobs} locks expire")
