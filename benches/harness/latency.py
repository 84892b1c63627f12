"""Latencies of jobs: from `add` to the handler on an idle queue, and from the due time to `finishedOn` under load."""

from __future__ import annotations

import json
import statistics
import sys
import time
from dataclasses import dataclass, field, replace

from benches.harness.contender import Figure
from benches.harness.measuring import Measurement
from benches.harness.peer import Peer, PeerError
from benches.harness.processing import Process, wait_until_completed
from benches.harness.stage import Stage

P50 = Figure("p50_ms", "p50 ms", digits=2)
P99 = Figure("p99_ms", "p99 ms", digits=2)
P999 = Figure("p999_ms", "p99.9 ms", digits=2)
#: The first one decides.
TAIL_FIRST = (P99, P50, P999)
#: Seconds until a started worker is idle.
_SETTLE = 1.5
#: The least number of jobs to measure the throughput of a worker.
_CAPACITY_JOBS = 15_000
#: Seconds of load, enough on a slow machine too.
_LOAD_SECONDS = 5
_GENERATOR = (sys.executable, "-m", "benches.peers", "load_generator")


@dataclass(frozen=True)
class PickUp:
    """One process of the contender adds jobs at a fixed rate, another one has a worker that is idle between them.

    Attributes:
        rate: jobs per second; so few that the queue is always idle.
    """

    rate: float = 200.0

    def measure(self, stage: Stage) -> Measurement:
        """Add jobs in an open loop; the handlers record how long after the call of `add` they started."""
        worker, producer = stage.peers
        with stage.limited():
            stage.prepare(worker, {"task": "process", "act": "record"})
            worker.go()
            stage.prepare(producer, {"task": "add_paced", "rate": self.rate})
            time.sleep(_SETTLE)
            meter = stage.meter()
            producer.go()
            producer.done()
            if stage.contender.foreign:
                worker.handled()
            else:
                wait_until_completed(stage, [stage.queue], stage.jobs)
            found = meter.read(stage.jobs)
            worker.stop()
            latencies = [microseconds / 1000 for microseconds in worker.done()["latencies"]]
        if len(latencies) != stage.jobs:
            raise PeerError(f"{stage.contender.name} ran {len(latencies)} jobs instead of {stage.jobs}")
        found.more.update(percentiles(latencies))
        return found


@dataclass
class UnderLoad:
    """One common load generator adds jobs in an open loop; the contender only works them.

    Attributes:
        share: share of the throughput of the first contender in a closed run, so that the load is the same for all.
    """

    share: float
    _capacity: list[float] = field(default_factory=list)

    def measure(self, stage: Stage) -> Measurement:
        """Load the contender's worker and read from each job the time from its due time to its end."""
        rate = self._capacity_of_first(stage) * self.share
        stage = replace(stage, jobs=min(stage.jobs, round(rate * _LOAD_SECONDS)))
        with Peer("the load generator", _GENERATOR) as generator, stage.limited(), generator.limited(60):
            worker = stage.peers[0]
            stage.prepare(worker)
            worker.go()
            stage.prepare(generator, {"task": "add_load", "rate": rate})
            meter = stage.meter()
            generator.go()
            generator.done()
            wait_until_completed(stage, [stage.queue], stage.jobs)
            found = meter.read(stage.jobs)
            worker.stop()
            worker.done()
        found.more.update(percentiles(_latencies(stage)), offered=rate)
        return found

    def _capacity_of_first(self, stage: Stage) -> float:
        """Measured before the first contender's first round: the better of two, since a cold worker is much slower."""
        if not self._capacity:
            closed = replace(stage, jobs=max(stage.jobs, _CAPACITY_JOBS))
            for _ in range(2):
                self._capacity[:] = [max([Process().measure(closed).rate, *self._capacity])]
                stage.server.empty()
        return self._capacity[0]


@dataclass(frozen=True)
class ScriptTimes:
    """A worker empties a queue while the server notes each call; the contender says of which script."""

    def measure(self, stage: Stage) -> Measurement:
        """Let the contender's worker work, and take the times of one script from the server."""
        stage.fill(stage.queue, stage.jobs)
        worker = stage.peers[0]
        with stage.limited():
            stage.prepare(worker)
            stage.server.watch_scripts()
            meter = stage.meter()
            worker.go()
            wait_until_completed(stage, [stage.queue], stage.jobs)
            times = stage.server.script_times()
            found = meter.read(stage.jobs)
            worker.stop()
            worker.done()
        script = str(stage.contender.options["script"])
        if len(times.get(script, ())) < 2:
            raise PeerError(f"{stage.contender.name}: {script} was not called; called were {', '.join(sorted(times))}")
        found.more.update(percentiles(times[script]))
        return found


OFFERED = Figure("offered", "jobs/s offered", rising=True)


def percentiles(latencies: list[float]) -> dict[str, float]:
    """Return the percentiles of milliseconds that the tables show."""
    cuts = statistics.quantiles(latencies, n=1_000, method="inclusive")
    return {"p50_ms": cuts[499], "p99_ms": cuts[989], "p999_ms": cuts[998]}


def _latencies(stage: Stage) -> list[float]:
    jobs = stage.server.hashes(f"bull:{stage.queue}:{number + 1}" for number in range(stage.jobs))
    return [float(job["finishedOn"]) - json.loads(job["data"])["due"] for job in jobs]
