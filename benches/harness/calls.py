"""Times single calls: public ones, also beside those of another build, and those of the core.

Machines are faster on one day than on another, so builds are compared in one run, in which they alternate.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from benches.harness.peer import ROOT
from benches.harness.report import aligned

_FOLDER = ROOT / "benches" / "micro"
#: Above this ratio a call counts as slower.
BOUND = 1.1

#: The seconds of each call without disturbance: the shortest of many.
Times: TypeAlias = Mapping[str, float]


class CallsError(Exception):
    """The calls could not be measured."""


def measure_calls() -> None:
    """Print the times of public calls.

    Raises:
        CallsError: they could not be measured.
    """
    found, _ = _run(sys.executable)
    rows = [["call", "us"], *([name, f"{seconds * 1e6:.1f}"] for name, seconds in found.items())]
    print("Single calls: the shortest of many", "", *aligned(rows), sep="\n", end="\n\n")


def compare_calls(other: Path, rounds: int) -> bool:
    """Print the times of public calls of this build and of another one.

    Args:
        other: the Python of an environment with the other build and the tools for development.
        rounds: how often each is measured, by turns.

    Returns:
        False if some call is slower than with the other build.

    Raises:
        CallsError: they could not be measured, or it is the same build.
    """
    ours: list[tuple[Times, str]] = []
    theirs: list[tuple[Times, str]] = []
    for turn in range(rounds):
        # Who comes second may find a warmer machine.
        for python, found in ((sys.executable, ours), (str(other), theirs))[:: 1 if turn % 2 else -1]:
            found.append(_run(python))
        if ours[0][1] == theirs[0][1]:
            raise CallsError(f"both are the build in {ours[0][1]}")
    rows, slower = compared([times for times, _ in ours], [times for times, _ in theirs])
    print(
        f"Single calls of two builds: medians of {rounds} rounds by turns; the other one is {theirs[0][1]}",
        "",
        sep="\n",
    )
    print(*aligned(rows), sep="\n", end="\n\n")
    return not slower


def compared(ours: Sequence[Times], theirs: Sequence[Times]) -> tuple[list[list[str]], list[str]]:
    """Return the table of two builds, measured by turns, and the calls that are slower than with the other one."""
    rows, slower = [["call", "us", "the other", "ratio", ""]], []
    for name in ours[0]:
        ratio = median(one[name] / other[name] for one, other in zip(ours, theirs, strict=True))
        if ratio > BOUND:
            slower.append(name)
        shown = [f"{median(times[name] for times in build) * 1e6:.1f}" for build in (ours, theirs)]
        rows.append([name, *shown, f"{ratio:.2f}", "SLOWER" if ratio > BOUND else ""])
    return rows, slower


def _run(python: str) -> tuple[Times, str]:
    """Measure all calls once with the build of an environment. Return their times, and where that build is."""
    with TemporaryDirectory() as folder:
        results = Path(folder) / "calls.json"
        command = [python, "-m", "pytest", "-q", "-n", "0", "-W", "default", "-p", "no:cacheprovider"]
        options = ["--benchmark-max-time=0.5", "--benchmark-disable-gc", f"--benchmark-json={results}"]
        tests = str(_FOLDER / "test_public_calls.py")
        done = subprocess.run([*command, *options, tests], cwd=ROOT, check=False, capture_output=True, text=True)
        if done.returncode:
            raise CallsError(f"{python} could not measure single calls:\n{done.stdout}{done.stderr}")
        content: Mapping[str, Any] = json.loads(results.read_text())
    times = {one["name"].removeprefix("test_"): one["stats"]["min"] for one in content["benchmarks"]}
    return times, content["benchmarks"][0]["extra_info"]["build"]


def measure_core() -> bool:
    """Print the times of the core's codecs and script arguments."""
    command = ["cargo", "bench", "--quiet", "--manifest-path", str(_FOLDER / "Cargo.toml")]
    options = ["--", "--quiet", "--warm-up-time", "1", "--measurement-time", "2"]
    # By the environment, since criterion finds its output folder there too.
    target = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target" / "micro"), "CARGO_PROFILE_BENCH_DEBUG": "0"}
    if shutil.which("cargo") is None:
        return False
    return subprocess.run([*command, *options], env=target, check=False).returncode == 0
