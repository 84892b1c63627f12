"""Runs the benchmarks of single calls: the public ones, compared with the stored baseline, and those of the core.

A baseline in seconds would say more about the machine than about bullrush. So the baseline has the ratio of a call to a
yardstick: a bare round trip and some JSON, measured right before and after it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benches.harness.peer import ROOT
from benches.harness.report import aligned

_FOLDER = ROOT / "benches" / "micro"
BASELINE = _FOLDER / "baseline.json"
#: From this ratio to the baseline on a call is slower. On a machine with noisy neighbours its time varies by half.
BOUND = 2.0
#: How often all calls are measured before one is reported as slower.
_TRIES = 3


@dataclass(frozen=True)
class Call:
    """The time of a call without disturbance: the shortest of many."""

    seconds: float
    yardstick: float

    @property
    def cost(self) -> float:
        """The ratio to the yardstick."""
        return self.seconds / self.yardstick


def _cost(call: Call) -> float:
    return call.cost


def measure_calls(*, save: bool) -> bool:
    """Print the times of public calls and of the baseline, if there is one; ``save`` stores these as the new baseline.

    Returns:
        False if some call got slower or could not be measured.
    """
    before = json.loads(BASELINE.read_text()) if BASELINE.exists() and not save else {}
    found: dict[str, Call] = {}
    for _ in range(_TRIES):
        again = _run()
        if again is None:
            return False
        found = {name: min(call, found.get(name, call), key=_cost) for name, call in again.items()}
        if before and not slower(found, before):
            break
    if save:
        BASELINE.write_text(json.dumps({name: round(call.cost, 3) for name, call in found.items()}, indent=1) + "\n")
    print("Single calls beside the baseline: the shortest of many, in microseconds and in yardsticks", "", sep="\n")
    print(*aligned(changes(found, before)), sep="\n", end="\n\n")
    if not (before or save):
        print("There is no baseline for single calls yet; --save-baseline makes one.")
    return not slower(found, before)


def _run() -> dict[str, Call] | None:
    """Measure all calls once; None: it failed, and the reason is printed."""
    with TemporaryDirectory() as folder:
        results = Path(folder) / "calls.json"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-W", "default", "-p", "no:cacheprovider"]
        options = ["--benchmark-max-time=0.5", "--benchmark-disable-gc", f"--benchmark-json={results}"]
        tests = str(_FOLDER / "test_public_calls.py")
        done = subprocess.run([*command, *options, tests], cwd=ROOT, check=False, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout, done.stderr, sep="\n")
            return None
        return read_calls(json.loads(results.read_text()))


def read_calls(content: Mapping[str, Any]) -> dict[str, Call]:
    """Return the results that pytest-benchmark wrote."""
    return {
        one["name"].removeprefix("test_"): Call(one["stats"]["min"], one["extra_info"]["yardstick"])
        for one in content["benchmarks"]
    }


def slower(found: Mapping[str, Call], before: Mapping[str, float]) -> list[str]:
    """Return the calls that take much longer than they did."""
    return [name for name, call in found.items() if name in before and call.cost > BOUND * before[name]]


def changes(found: Mapping[str, Call], before: Mapping[str, float]) -> list[list[str]]:
    """Return the table of all calls with the baseline."""
    rows = [["call", "us", "yardsticks", "baseline", "change", ""]]
    late = slower(found, before)
    for name, call in found.items():
        known = [f"{before[name]:.2f}", f"{call.cost / before[name] - 1:+.0%}"] if name in before else ["-", "-"]
        rows.append([name, f"{call.seconds * 1e6:.1f}", f"{call.cost:.2f}", *known, "SLOWER" if name in late else ""])
    return rows


def measure_core() -> bool:
    """Print the times of the core's codecs and script arguments."""
    command = ["cargo", "bench", "--quiet", "--manifest-path", str(_FOLDER / "Cargo.toml")]
    options = ["--", "--quiet", "--warm-up-time", "1", "--measurement-time", "2"]
    # By the environment, since criterion finds its output folder there too.
    target = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target" / "micro"), "CARGO_PROFILE_BENCH_DEBUG": "0"}
    if shutil.which("cargo") is None:
        return False
    return subprocess.run([*command, *options], env=target, check=False).returncode == 0
