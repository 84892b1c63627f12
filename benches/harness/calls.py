"""Runs the benchmarks of single calls: of the public ones, beside the stored baseline, and of the core."""

from __future__ import annotations

import shutil
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


def measure_core() -> bool:
    """Print what the core's codecs and script arguments take."""
    command = ["cargo", "bench", "--quiet", "--manifest-path", str(_FOLDER / "Cargo.toml")]
    target = ["--target-dir", str(ROOT / "target" / "micro")]
    return shutil.which("cargo") is not None and subprocess.run([*command, *target], check=False).returncode == 0
