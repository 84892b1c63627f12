"""The published results: one file with a line for each round, from which the page is written.

usage: python -m tests.faults.suite.results merge FILE ...: adds the rounds of other files, those of other machines for
       example
       python -m tests.faults.suite.results mended SEED WHY: says what was wrong where this round had violations

Every round is in the file. One with violations is there with all of them, also when it could not be played to its end;
when what was wrong is mended, it is listed with that and its faults and jobs no longer count. One that ended before all
processes worked says nothing about jobs: it is listed with the reason. A round that two files have counts once.
"""

import fcntl
import json
import subprocess
import sys
from collections import Counter
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bullrush import __version__

if TYPE_CHECKING:
    from .plan import RoundPlan
    from .round import Round

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "docs" / "reliability" / "results.json"
INTEROP = ROOT / "tests" / "interop" / "node_modules"
#: Longest text of a violation in the file.
LONGEST = 400

#: What a round found, or the reason why it could not begin.
Result = dict[str, Any]


def load(path: Path = RESULTS) -> list[Result]:
    """Return the results of all rounds so far."""
    return json.loads(path.read_text()) if path.exists() else []


def add(more: list[Result], path: Path = RESULTS) -> int:
    """Add rounds to a file and return how many were new. Several suites of a machine may do so at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(ROOT / "target" / "faults.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = {name_of(one): one for one in load(path)}
        before = len(known)
        known |= {name_of(one): {**known.get(name_of(one), {}), **one} for one in more}
        lines = (json.dumps(known[name], sort_keys=True) for name in sorted(known))
        new = path.with_suffix(".new")
        new.write_text("[\n" + ",\n".join(lines) + "\n]\n")
        new.replace(path)
        return len(known) - before


def name_of(one: Result) -> tuple[str, int, int, str]:
    """Return what tells a round from others: a seed can be played again, on another version or at another time."""
    return one["topology"], one["seed"], one["tried"], one["at"]


def of_round(plan: "RoundPlan", round: "Round", seconds: float) -> Result:
    """Return what is written down about a round."""
    found = round.findings
    if not round.has_begun:
        return of_aborted(plan, "; ".join(found.violations))
    faults = {
        name: {"count": count, "recovery": add_up(found.recoveries.get(name, []))}
        for name, count in found.faults.items()
    }
    return about(plan) | {
        "seconds": int(seconds + 0.5),
        "jobs": found.jobs,
        "runs": found.runs,
        "repeated": found.repeated,
        "in hand": found.in_hand,
        "lost": found.lost,
        "failed by Node": found.failed_by_node,
        "hung of Node": found.hung_of_node,
        "starved": found.starved,
        "looks": found.looks,
        "asleep": len(found.asleep),
        "violations": [text[:LONGEST] for text in found.violations],
        "pick-up": add_up(found.pick_ups),
        "faults": faults,
        "versions": versions(round),
    }


def of_aborted(plan: "RoundPlan", reason: str) -> Result:
    """Return what is written down about a round that could not begin."""
    return about(plan) | {"aborted": reason[:LONGEST]}


def about(plan: "RoundPlan") -> Result:
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"topology": plan.title, "seed": plan.seed, "tried": plan.faults, "users": bool(plan.users), "at": now}


def versions(round: "Round") -> dict[str, str]:
    """Return what a round was played with."""
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    bullmq = json.loads((INTEROP / "bullmq5" / "package.json").read_text())["version"]
    return {
        "bullrush": commit(),
        "Redis": ".".join(map(str, round.topology.servers[0].version)),
        "Node": node.removeprefix("v"),
        "BullMQ for Node": bullmq,
    }


@lru_cache
def commit() -> str:
    """Return the version and the commit, for example ``0.1.0 (42 commits, 1a2b3c4)``."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    commits, last = git("rev-list", "--count", "HEAD") or "?", git("rev-parse", "--short", "HEAD") or "?"
    return f"{__version__} ({commits} commits, {last})"


def add_up(seconds: list[float]) -> dict[str, int]:
    """Count times in steps of 0.1 s, so that the counts give shares of many rounds."""
    return dict(Counter(f"{value:.1f}" for value in seconds))


def share(buckets: dict[str, int], part: float) -> float | None:
    """Return the time (s) that this part of all counts does not exceed."""
    total, seen = sum(buckets.values()), 0
    for value, count in sorted(buckets.items(), key=lambda item: float(item[0])):
        seen += count
        if seen >= part * total:
            return float(value)
    return None


def main(words: list[str]) -> None:
    match words:
        case ["merge", *others] if others:
            for other in others:
                print(f"{other}: {add(load(Path(other)))} new rounds")
        case ["mended", seed, why]:
            violated = [one for one in load() if one["seed"] == int(seed) and one.get("violations")]
            add([one | {"mended": why} for one in violated])
            print(f"{len(violated)} rounds")
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
