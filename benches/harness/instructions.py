"""Counts the instructions that Redis executes for a job, with valgrind: a measure that no other program disturbs.

Times vary by 20 % from round to round, these counts by 1 to 3 %. All code counts alike: what waits for memory costs
more than its share.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from benches.harness.calls import CallsError
from benches.harness.pages import PAGE
from benches.harness.peer import ROOT
from benches.harness.report import aligned, piped
from bullrush.embedded.binary import find_server
from bullrush.embedded.probe import wait_until_ready

_TURNS = ROOT / "benches" / "micro" / "turns.py"
#: What is done with each job: the names of `turns.py`, and how many jobs the two runs have whose difference counts.
_KINDS = {
    "add_bulk": (1_000, 5_000),
    "add_arrow": (1_000, 5_000),
    "1 slot": (200, 1_000),
    "batches of 50": (1_000, 5_000),
}
RESULTS = ROOT / "benches" / "results" / "instructions.json"
BEGIN, END = "<!-- measured: instructions -->", "<!-- /measured -->"
#: With so many more instructions a build counts as slower.
BOUND = 1.05

#: The instructions for a job, by kind.
Counts: TypeAlias = Mapping[str, float]


def count_instructions(other: Path | None, *, docs: bool) -> bool:
    """Print the instructions of Redis per job, and compare them with another build.

    Args:
        other: the Python of an environment with the other build.
        docs: put them into docs/benchmarks.md and the results, too.

    Returns:
        False if one needs more than 5 % more instructions than with the other build.

    Raises:
        CallsError: they could not be counted.
    """
    server, version = find_server()
    ours, build = _measure(sys.executable, server)
    rows = [["Redis executes, per job", "instructions"], *([kind, f"{count:,.0f}"] for kind, count in ours.items())]
    worst = 0.0
    if other:
        theirs, their_build = _measure(str(other), server)
        if their_build == build:
            raise CallsError(f"both are the build in {build}")
        rows[0] += ["the other build", "ratio"]
        for row, (kind, count) in zip(rows[1:], theirs.items(), strict=True):
            row += [f"{count:,.0f}", f"{ours[kind] / count:.3f}"]
        worst = max(ours[kind] / theirs[kind] for kind in ours)
    print(*aligned(rows), sep="\n", end="\n\n")
    if docs:
        redis = ".".join(map(str, version))
        RESULTS.write_text(json.dumps({"redis": redis, "jobs": _KINDS, "counts": ours}, indent=1) + "\n")
        head, _, rest = PAGE.read_text().partition(BEGIN)
        shown = [row[:2] for row in rows]
        PAGE.write_text("\n".join([head + BEGIN, *piped(shown), "", f"Redis {redis}.", END + rest.partition(END)[2]]))
    return worst <= BOUND


def _measure(python: str, server: str) -> tuple[Counts, str]:
    counts, build = {}, ""
    for kind, (few, many) in _KINDS.items():
        (less, build), (more, _) = (_run(python, server, kind, jobs) for jobs in (few, many))
        counts[kind] = (more - less) / (many - few)
    # Each processed job was added before.
    added = counts["add_bulk"]
    return {kind: count if kind.startswith("add") else count - added for kind, count in counts.items()}, build


def _run(python: str, server: str, kind: str, jobs: int) -> tuple[int, str]:
    """Return all instructions of a server that got these jobs, and where the build is."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise CallsError("instructions are counted with valgrind, which is not on PATH")
    with TemporaryDirectory() as folder:
        url = f"unix://{folder}/s"
        counting = [valgrind, "--tool=callgrind", "--trace-children=yes", f"--callgrind-out-file={folder}/%p.out"]
        # It must not do anything by itself while it is counted.
        options = ["--port", "0", "--unixsocket", f"{folder}/s", "--save", "", "--hz", "1", "--dir", folder]
        running = subprocess.Popen(
            [*counting, server, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            wait_until_ready(url, lambda: running.poll() is not None)
            done = subprocess.run(
                [python, str(_TURNS), url, kind, str(jobs)], check=False, capture_output=True, text=True, cwd=folder
            )
        finally:
            running.terminate()
            said = running.communicate()[1]
        if done.returncode:
            raise CallsError(f"{python} could not process jobs:\n{done.stderr}")
        totals = [
            re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.MULTILINE)
            for out in Path(folder).glob("*.out")
        ]
        if not any(totals):
            raise CallsError(f"valgrind counted nothing:\n{said}")
        return sum(int(total[1]) for total in totals if total), done.stdout.strip()
