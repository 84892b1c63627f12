"""Runs the benchmarks of single calls: of the public ones, beside the stored baseline, and of the core.

A baseline in seconds would say more about the machine than about bullrush. So what is stored is how many round trips of a bare PING a call
takes, both measured in one run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benches.harness.peer import ROOT
from benches.harness.report import aligned

_FOLDER = ROOT / "benches" / "micro"
BASELINE = _FOLDER / "baseline.json"
REFERENCE = "reference"
#: So many times as slow as in the baseline is slower. What a call takes, measured in round trips, varies by a fifth from run to run.
BOUND = 1.5


def measure_calls(*, save: bool) -> bool:
    """Print what public calls take, beside the baseline if there is one; ``save`` makes these figures the new one.

    Returns:
        False if some call got slower or could not be measured.
    """
    with TemporaryDirectory() as folder:
        results = Path(folder) / "calls.json"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-W", "default", "-p", "no:cacheprovider"]
        options = ["--benchmark-max-time=0.5", "--benchmark-disable-gc", f"--benchmark-json={results}"]
        tests = str(_FOLDER / "test_public_calls.py")
        done = subprocess.run([*command, *options, tests], cwd=ROOT, check=False, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout, done.stderr, sep="\n")
            return False
        seconds = medians(json.loads(results.read_text()))
    found = in_round_trips(seconds)
    if save:
        BASELINE.write_text(json.dumps({name: round(cost, 3) for name, cost in found.items()}, indent=1) + "\n")
    before = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    print(*changes(seconds, before), sep="\n", end="\n\n")
    if not before:
        print("There is no baseline for single calls yet; --save-baseline makes one.")
    return not slower(found, before)


def medians(content: Mapping[str, Any]) -> dict[str, float]:
    """Return the seconds of each call from what pytest-benchmark writes."""
    return {one["name"].removeprefix("test_"): float(one["stats"]["median"]) for one in content["benchmarks"]}


def in_round_trips(seconds: Mapping[str, float]) -> dict[str, float]:
    """Return how many bare round trips each call takes."""
    return {name: taken / seconds[REFERENCE] for name, taken in seconds.items() if name != REFERENCE}


def slower(found: Mapping[str, float], before: Mapping[str, float]) -> list[str]:
    """Return the calls that take much longer than they did."""
    return [name for name, cost in found.items() if name in before and cost > BOUND * before[name]]


def changes(seconds: Mapping[str, float], before: Mapping[str, float]) -> list[str]:
    """Return the table of all calls, beside the baseline."""
    found = in_round_trips(seconds)
    rows = [["single call", "us", "round trips", "baseline", "change", ""]]
    late = slower(found, before)
    for name, cost in found.items():
        known = [f"{before[name]:.2f}", f"{cost / before[name] - 1:+.0%}"] if name in before else ["-", "-"]
        verdict = f"SLOWER by more than {BOUND - 1:.0%}" if name in late else ""
        rows.append([name, f"{seconds[name] * 1e6:.1f}", f"{cost:.2f}", *known, verdict])
    return [f"Single calls: medians; a bare round trip takes {seconds[REFERENCE] * 1e6:.1f} us", "", *aligned(rows)]


def measure_core() -> bool:
    """Print what the core's codecs and script arguments take."""
    command = ["cargo", "bench", "--quiet", "--manifest-path", str(_FOLDER / "Cargo.toml")]
    options = ["--", "--quiet", "--warm-up-time", "1", "--measurement-time", "2"]
    # By the environment: criterion, too, looks there for the place of what it writes.
    target = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target" / "micro"), "CARGO_PROFILE_BENCH_DEBUG": "0"}
    if shutil.which("cargo") is None:
        return False
    return subprocess.run([*command, *options], env=target, check=False).returncode == 0
