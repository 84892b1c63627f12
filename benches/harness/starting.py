"""How long programs take to start and to end, over bare Python, which is started in turn with them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benches.harness.contender import Figure
from benches.harness.measuring import Measurement
from benches.harness.peer import PeerError
from benches.harness.stage import Stage

_ROOT = Path(__file__).parents[2]
_BARE = ("-c", "pass")
#: Starts per round.
_STARTS = 5

OVER_BARE = Figure("over_bare_ms", "ms over bare Python")
CPU_OVER_BARE = Figure("cpu_over_bare_ms", "ms of CPU over bare Python")


@dataclass(frozen=True)
class Start:
    """The contender's option ``words`` are the arguments of Python; QUEUE is an empty queue."""

    def measure(self, stage: Stage) -> Measurement:
        """Start bare Python and the program in turn; both figures are differences of medians."""
        given = stage.contender.options["words"]
        assert isinstance(given, list | tuple)
        words = [str(word).replace("QUEUE", stage.queue) for word in given]
        meter = stage.meter()
        runs = [(_run(_BARE, stage), _run(words, stage)) for _ in range(_STARTS)]
        wall, cpu = (median(own[kind] for _, own in runs) - median(bare[kind] for bare, _ in runs) for kind in (0, 1))
        return meter.read(_STARTS, over_bare_ms=wall * 1_000, cpu_over_bare_ms=cpu * 1_000)


def _run(words: Sequence[str], stage: Stage) -> tuple[float, float]:
    """Return the seconds that a program took, and those of CPU."""
    # With bytecode, as installed packages have it: the warm-up writes it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["BULLRUSH_URL"] = stage.server.url
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *words], cwd=_ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise PeerError(f"{stage.contender.name}: {' '.join(words)} ended with code {running.returncode}")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime
