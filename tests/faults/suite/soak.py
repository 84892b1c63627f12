"""A long run at half load with a fault now and then: memory, descriptors, threads and keys must stay as they are.

usage: python -m tests.faults.suite.soak [--minutes 30] [--every 5]

It writes docs/reliability/soak.json and the plot; ``python -m tests.faults.suite.report`` then writes the page.
"""

import argparse
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from redis import RedisError

from .ending import undone
from .faults import FAULTS
from .flatness import WHAT, flatness, plot
from .folders import new_folder
from .plan import RoundPlan
from .report import SAMPLES
from .results import RESULTS, versions
from .round import Round

PLOT = RESULTS.parents[1] / "images" / "soak.svg"
#: Faults that end a worker leave nothing to be watched; all others may happen.
ENDING = {
    "worker killed",
    "worker out of memory",
    "worker crashes in a job",
    "worker ended by SIGTERM",
    "worker forks",
    "poison job",
}
#: Finished jobs that are kept, so that the number of keys can be flat.
KEPT = 1000
#: About how many samples are taken, but not more than one in SAMPLE_SECONDS.
SAMPLES_WANTED, SAMPLE_SECONDS = 150, 2.0


class Soak(Round):
    """A round that goes on for a time, whose finished jobs are removed."""

    def __init__(self, minutes: float, every: float, folder: Path) -> None:
        only = tuple(name for name, fault in FAULTS.items() if "single" in fault.where and name not in ENDING)
        faults = int(minutes * 60 / every)
        plan = RoundPlan("single", int(time.time()), faults, bulk=50, pause=0.3, gap=every, only=only, one_by_one=True)
        super().__init__(plan, folder, loud=True)
        self._every = max(SAMPLE_SECONDS, minutes * 60 / SAMPLES_WANTED)
        self.samples: list[dict[str, Any]] = []

    def producer_options(self) -> dict[str, Any]:
        return {"default_job_options": {"remove_on_complete": KEPT, "remove_on_fail": KEPT}}

    def node_options(self) -> dict[str, Any]:
        return {"defaultJobOptions": {"removeOnComplete": KEPT, "removeOnFail": KEPT}}

    def soak(self) -> None:
        """Run it and leave `samples`."""
        over = threading.Event()
        try:
            self._start()
            sampler = threading.Thread(target=self._sample_until, args=(over,), daemon=True)
            sampler.start()
            self._make_faults()
            over.set()
            sampler.join()
            self.end(self.processes.producers)
            self.wait(
                lambda: not self.topology.retried(lambda redis: undone(redis, self.queue)), 90, "all jobs are done"
            )
            self.end(self.processes.workers)
        except Exception as error:
            self.findings.wrong(f"the soak could not go on: {type(error).__name__}: {error}")
        finally:
            over.set()
            self.close()

    def _sample_until(self, over: threading.Event) -> None:
        began = time.monotonic()
        watched = [
            process for process in self.processes.workers if process.kind != "node" and process.name != self.odd_name
        ]
        while not over.wait(self._every):
            sample: dict[str, Any] = {"minute": round((time.monotonic() - began) / 60, 2), "faults": len(self.happened)}
            for process in watched:
                if footprint := process.footprint():
                    sample[process.name] = [process.resident() >> 10, *footprint]
            try:
                sample["keys"] = self.topology.master.client.dbsize()
            except RedisError:
                continue  # it is down, or does not answer now
            self.samples.append(sample)

    def jobs(self) -> int:
        """Return how many jobs were acknowledged."""
        return sum(
            line.startswith("a ") for process in self.processes.all for line in process.ledger.read_text().splitlines()
        )

    def check_flat(self) -> None:
        """Find what has grown."""
        for name, what, early, late, most in flatness(self.samples):
            if late > most:
                self.findings.wrong(f"{name}: {WHAT[what]} grew from {early} to {late}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--every", type=float, default=5, help="mean seconds between two faults")
    parser.add_argument("--plot", type=Path, default=PLOT)
    parser.add_argument("--samples", type=Path, default=SAMPLES)
    given = parser.parse_args()
    soak = Soak(given.minutes, given.every, new_folder())
    soak.soak()
    soak.check_flat()
    result = {
        "minutes": given.minutes,
        "faults": len(soak.happened),
        "jobs": soak.jobs(),
        "seed": soak.plan.seed,
        "violations": soak.findings.violations,
        "versions": versions(soak),
        "samples": soak.samples,
    }
    given.samples.parent.mkdir(parents=True, exist_ok=True)
    given.samples.write_text(json.dumps(result) + "\n")
    plot(soak.samples, given.plot)
    for text in soak.findings.violations:
        print("VIOLATION", text)
    print(
        f"{len(soak.happened)} faults and {result['jobs']} jobs in {given.minutes:g} minutes, "
        f"{len(soak.findings.violations)} violations"
    )
    return 1 if soak.findings.violations else 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # threads of relays must not keep it
