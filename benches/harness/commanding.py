"""Processing by the command ``bullrush worker``, timed from the add of all jobs until the last one is completed."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benches.harness.measuring import Measurement
from benches.harness.peer import PeerError
from benches.harness.processing import wait_until_completed
from benches.harness.stage import Stage
from bullrush import Queue

_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Command:
    """``bullrush worker`` works the jobs, in as many processes as the contender's option ``p`` says.

    Attributes:
        handler: the target of the command.
    """

    handler: str

    def measure(self, stage: Stage) -> Measurement:
        """Start the command, and add the jobs when all its processes wait for some."""
        processes = int(str(stage.contender.options["p"]))
        words = ["worker", self.handler, "-Q", stage.queue, "-p", str(processes), "--log-level", "WARNING"]
        command = [sys.executable, "-m", "bullrush", *words, "--url", stage.server.url]
        with Queue(stage.queue, url=stage.server.url) as queue, subprocess.Popen(command, cwd=_ROOT) as running:
            try:
                deadline = time.monotonic() + stage.max_seconds
                while queue.get_workers_count() < processes:
                    if running.poll() is not None or time.monotonic() > deadline:
                        raise PeerError(f"{stage.contender.name}: not all processes of the command have started")
                    time.sleep(0.05)
                meter = stage.meter()
                stage.fill(stage.queue, stage.jobs)
                return meter.read(wait_until_completed(stage, [stage.queue], stage.jobs))
            finally:
                running.terminate()
                running.wait()
