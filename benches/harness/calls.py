"""Runs the benchmarks of single public calls and compares them with the stored baseline."""

from __future__ import annotations

import subprocess
import sys

from benches.harness.peer import ROOT

_FOLDER = ROOT / "benches" / "micro"
BASELINE = _FOLDER / "baseline.json"


def measure_calls(*, save: bool) -> bool:
    """Print what public calls take, beside the baseline if there is one; ``save`` makes these figures the new one."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-W", "default", "-p", "no:cacheprovider"]
    options = ["--benchmark-columns=min,median,iqr,rounds", "--benchmark-sort=name", "--benchmark-max-time=0.5"]
    if save:
        options.append(f"--benchmark-json={BASELINE}")
    elif BASELINE.exists():
        options.append(f"--benchmark-compare={BASELINE}")
    else:
        print("There is no baseline for single calls yet; --save-baseline makes one.")
    tests = str(_FOLDER / "test_public_calls.py")
    return subprocess.run([*command, *options, tests], cwd=ROOT, check=False).returncode == 0
