"""Runs the benchmarks of single calls: of the public ones, beside the stored baseline, and of the core.

A baseline in seconds would say more about the machine than about bullrush. So what is stored is how many times as long as a yardstick a call
takes: a bare round trip and some JSON, measured right before and after it.
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
#: So many times as slow as in the baseline is slower. On a machine with noisy neighbours what a call takes varies by half.
BOUND = 2.0
#: So often all calls are measured before one is believed to be slow.
_TRIES = 3


@dataclass(frozen=True)
class Call:
    """What a call takes when nothing disturbs it: the shortest of many."""

    seconds: float
    yardstick: float

    @property
    def cost(self) -> float:
        """How many times as long as the yardstick."""
        return self.seconds / self.yardstick


def _cost(call: Call) -> float:
    return call.cost


def measure_calls(*, save: bool) -> bool:
    """Print what public calls take, beside the baseline if there is one; ``save`` makes these figures the new one.

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
    """Measure all calls once; None: that did not work, and why is printed."""
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
    """Return what pytest-benchmark has written."""
    return {
        one["name"].removeprefix("test_"): Call(one["stats"]["min"], one["extra_info"]["yardstick"])
        for one in content["benchmarks"]
    }


def slower(found: Mapping[str, Call], before: Mapping[str, float]) -> list[str]:
    """Return the calls that take much longer than they did."""
    return [name for name, call in found.items() if name in before and call.cost > BOUND * before[name]]


def changes(found: Mapping[str, Call], before: Mapping[str, float]) -> list[list[str]]:
    """Return the table of all calls, beside the baseline."""
    rows = [["call", "us", "yardsticks", "baseline", "change", ""]]
    late = slower(found, before)
    for name, call in found.items():
        known = [f"{before[name]:.2f}", f"{call.cost / before[name] - 1:+.0%}"] if name in before else ["-", "-"]
        rows.append([name, f"{call.seconds * 1e6:.1f}", f"{call.cost:.2f}", *known, "SLOWER" if name in late else ""])
    return rows


def measure_core() -> bool:
    """Print what the core's codecs and script arguments take."""
    command = ["cargo", "bench", "--quiet", "--manifest-path", str(_FOLDER / "Cargo.toml")]
    options = ["--", "--quiet", "--warm-up-time", "1", "--measurement-time", "2"]
    # By the environment: criterion, too, looks there for the place of what it writes.
    target = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target" / "micro"), "CARGO_PROFILE_BENCH_DEBUG": "0"}
    if shutil.which("cargo") is None:
        return False
    return subprocess.run([*command, *options], env=target, check=False).returncode == 0
