"""The figures of the last measured failovers, and their place in docs/production.md.

usage: python -m tests.faults.sentinel_failover.report: writes the page anew
"""

import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "production.md"
RESULTS = ROOT / "docs" / "reliability" / "sentinel-failover.json"
BEGIN, END = "<!-- measured: sentinel-failover -->\n", "<!-- /measured -->\n"
PRODUCERS = {"waits": "bullrush", "stays": "a client that learns of a failover only when it is over"}


@dataclass(frozen=True)
class Run:
    """One run of the measurement."""

    given: dict[str, Any]
    at: str
    versions: dict[str, str]
    #: For each failover what became of the adds of each producer.
    found: list[dict[str, dict[str, float]]]


def load() -> Run:
    """Return the last run that was recorded."""
    return Run(**json.loads(RESULTS.read_text()))


def record(run: Run) -> None:
    """Keep the figures, and write them into the page."""
    RESULTS.write_text(json.dumps(asdict(run), indent=1) + "\n")
    PAGE.write_text(with_figures(PAGE.read_text(), run))


def with_figures(page: str, run: Run) -> str:
    """Return a page with the figures of a run in their place."""
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    return before + BEGIN + figures(run) + END + after


def total(run: Run, producer: str) -> dict[str, Any]:
    """Return what the failovers add up to for one producer."""
    every = [one[producer] for one in run.found]
    added = sum((Counter({name: one[name] for name in ("acknowledged", "lost")}) for one in every), Counter())
    return {"acknowledged": added["acknowledged"], "lost": added["lost"], "pause": max(one["pause"] for one in every)}


def is_little(run: Run) -> bool:
    """Whether bullrush has lost at most one acknowledged add in 5,000."""
    ours = total(run, "waits")
    return bool(ours["lost"] * 5000 <= ours["acknowledged"])


def figures(run: Run) -> str:
    """Return the figures as a table, and how they were measured."""
    rows = ["| producer | adds that were acknowledged | of these lost | longest pause |", "|-|-:|-:|-:|"]
    for producer, title in PRODUCERS.items():
        one = total(run, producer)
        rows.append(f"| {title} | {one['acknowledged']:,} | {one['lost']:,} | {one['pause']:.1f} s |")
    given, versions = run.given, run.versions
    how = " ".join(f"{name.upper()}={given[name]}" for name in ("failovers", "rate", "seed"))
    each, used = f"{given['rate']:,} jobs per", f"bullrush {versions['bullrush']}, Redis {versions['Redis']}"
    rows += [
        "",
        f"{given['failovers']} times `SENTINEL FAILOVER` on one machine, while both producers add {each}",
        f"second each: `make failovers {how}`. {run.at[:10]}, {used}.",
    ]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    record(load())
