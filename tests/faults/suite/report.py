"""Writes docs/reliability.md from the published results. ``make faults`` calls it; it can be run alone."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from .faults import FAULTS
from .flatness import flatness, kind
from .paragraphs import wrapped
from .processes import END_SECONDS, LOCK_MS, STALLED_INTERVAL_MS
from .results import RESULTS, ROOT, Result, load, share

PAGE = ROOT / "docs" / "reliability.md"
TEMPLATE, SOAK = (Path(__file__).with_name(name) for name in ("report.md", "soak.md"))
SAMPLES = RESULTS.with_name("soak.json")
TITLES = {"single": "One server", "sentinel": "Sentinel", "cluster": "Cluster"}

#: What adds up.
NUMBERS = (
    *("seconds", "jobs", "runs", "repeated", "lost", "failed by Node", "hung of Node", "starved"),
    *("looks", "asleep"),
)


def page(results: list[Result], soak: Result | None = None) -> str:
    """Return the page, with what a soak has found if there was one."""
    rounds = [one for one in results if "aborted" not in one and "mended" not in one]
    topologies = totals(rounds)
    everything = Counter(sum((one["numbers"] for one in topologies.values()), Counter()))
    text = TEMPLATE.read_text().format(
        faults=f"{everything['faults']:,}",
        jobs=f"{everything['jobs']:,}",
        violations=everything["violations"],
        by_node=everything["failed by Node"],
        end=END_SECONDS,
        hung=everything["hung of Node"],
        starved=everything["starved"],
        looks=f"{everything['looks']:,}",
        asleep=f"{everything['asleep']:,}",
        lost=everything["lost"],
        hours=f"{everything['seconds'] / 3600:.1f}",
        lock=f"{LOCK_MS / 1000:.0f}",
        check=f"{STALLED_INTERVAL_MS / 1000:.0f}",
        totals=totals_table(topologies),
        faults_table=faults_table(topologies),
        unseen=unseen(topologies),
        violations_list=violations_list(rounds),
        mended=mended([one for one in results if "mended" in one]),
        aborted=aborted([one for one in results if "aborted" in one]),
        versions=versions(rounds),
        redis=" and ".join(sorted({one["versions"]["Redis"] for one in rounds})) or "of no version yet",
        date=max((one["at"][:10] for one in rounds), default="never"),
        kinds=len(FAULTS),
        users=sum(one.get("users", False) for one in rounds),
        seeds=seeds(rounds),
        soak=soak_section(soak) if soak else "",
        results=RESULTS.relative_to(ROOT / "docs"),
    )
    return wrapped(text)


def totals(rounds: list[Result]) -> dict[str, Any]:
    """Return what the rounds of each topology add up to."""
    found: dict[str, Any] = {}
    for name in sorted({one["topology"] for one in rounds}, key=rank):
        mine = [one for one in rounds if one["topology"] == name]
        numbers = Counter(rounds=len(mine), violations=sum(len(one["violations"]) for one in mine))
        counts: Counter[str] = Counter()
        pick_ups: Counter[str] = Counter()
        recoveries: dict[str, Counter[str]] = defaultdict(Counter)
        for one in mine:
            numbers.update({key: value for key, value in one.items() if key in NUMBERS})
            pick_ups.update(one["pick-up"])
            for fault, entry in one["faults"].items():
                counts[fault] += entry["count"]
                recoveries[fault].update(entry["recovery"])
        numbers["faults"] = counts.total()
        found[name] = {"numbers": numbers, "pick-up": pick_ups, "faults": counts, "recoveries": recoveries}
    return found


def rank(topology: str) -> tuple[int, str]:
    """Return what topologies are sorted by."""
    return list(TITLES).index(topology.split(" ")[0]), topology


def versions(rounds: list[Result]) -> str:
    """Return each version that was used, the last three of ours."""
    known: dict[str, dict[str, None]] = defaultdict(dict)
    for one in sorted(rounds, key=lambda one: one["at"]):
        for name, text in one["versions"].items():
            known[name][text] = None
    return ", ".join(f"{name} {' and '.join(list(some)[-3:])}" for name, some in sorted(known.items()))


def seeds(rounds: list[Result]) -> str:
    """Return the seeds of all rounds."""
    lines = []
    for name in sorted({one["topology"] for one in rounds}, key=rank):
        lines.append(
            f"- {title(name)}: "
            + compact(sorted([one["seed"], one["tried"]] for one in rounds if one["topology"] == name))
        )
    return "\n".join(lines)


def compact(rounds: list[list[int]]) -> str:
    """Return seeds with their numbers of faults, seeds in a row as a range: ``7-9 (400), 12 (60)``."""
    ranges: list[list[int]] = []
    for seed, faults in rounds:
        if ranges and ranges[-1][1:] == [seed - 1, faults]:
            ranges[-1][1] = seed
        else:
            ranges.append([seed, seed, faults])
    return ", ".join(f"{first}{f'-{last}' if last > first else ''} ({faults})" for first, last, faults in ranges)


def aborted(some: list[Result]) -> str:
    """Return what is said about rounds that could not begin."""
    if not some:
        return "No round ended before all processes worked."
    reasons = "; ".join(f"{title(one['topology'])}, seed {one['seed']}: `{one['aborted'][:100]}`" for one in some[-5:])
    return f"Rounds that ended before all processes worked, and say nothing about jobs: {len(some)}. {reasons}."


COLUMNS = ("rounds", "minutes", "faults", "jobs", "runs", "repeated", "lost", "violations")


def totals_table(topologies: dict[str, Any]) -> str:
    rows = [f"| topology | {' | '.join(COLUMNS)} | pick-up p99 |", "|-|" + "-:|" * (len(COLUMNS) + 1)]
    for name, one in topologies.items():
        numbers = one["numbers"] | Counter(minutes=one["numbers"]["seconds"] // 60)
        shown = " | ".join(f"{numbers[column]:,}" for column in COLUMNS)
        rows.append(f"| {title(name)} | {shown} | {seconds(share(one['pick-up'], 0.99))} |")
    return "\n".join(rows)


def title(name: str) -> str:
    first, _, rest = name.partition(" ")
    return TITLES[first] + (f", {rest}" if rest else "")


def faults_table(topologies: dict[str, Any]) -> str:
    head = " | ".join(f"{title(name)}: count | p50 | p99" for name in topologies)
    rows = [f"| fault | {head} |", "|-|" + "-:|-:|-:|" * len(topologies)]
    for fault in [*FAULTS, *sorted(set().union(*(one["faults"] for one in topologies.values())) - FAULTS.keys())]:
        cells = []
        for one in topologies.values():
            known = one["faults"].get(fault)
            shares = [seconds(share(one["recoveries"][fault], part)) for part in (0.5, 0.99)]
            cells += [f"{known:,}", *shares] if known else [""] * 3
        if any(cells):
            rows.append(f"| {fault} | {' | '.join(cells)} |")
    return "\n".join(rows)


def unseen(topologies: dict[str, Any]) -> str:
    """Return which kinds of faults no round has had, as a line; an empty line if there are none."""
    names = [fault for fault in FAULTS if not any(one["faults"].get(fault) for one in topologies.values())]
    if not names:
        return ""
    seen = f"{len(FAULTS) - len(names)} of the {len(FAULTS)} kinds have happened"
    return f"\n{seen}; without results are: {', '.join(names)}.\n"


def seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"


def violations_list(rounds: list[Result]) -> str:
    """Return what was found and is not explained, newest first."""
    found = [
        f"- {title(one['topology'])}, seed {one['seed']}, {one['versions']['bullrush']}: `{short(text)}`"
        for one in sorted(rounds, key=lambda one: one["at"], reverse=True)
        for text in one["violations"]
    ]
    return "\n".join(found[:20]) or "None."


def mended(rounds: list[Result]) -> str:
    """Return what was wrong in rounds with violations, oldest first, where that is mended.

    An empty text if there are none.
    """
    if not rounds:
        return ""
    lines = [
        f"- {title(one['topology'])}, seed {one['seed']}: `{short(one['violations'][0])}`. {one['mended']}"
        for one in sorted(rounds, key=lambda one: one["at"])
    ]
    return "\n".join(
        ["Rounds whose violations led to a mend are not added up above. What they have found:", "", *lines]
    )


def short(text: str) -> str:
    """Return the beginning of a violation."""
    return text.partition("\n")[0][:160]


def soak_section(soak: Result) -> str:
    """Return what a soak has found."""
    rows = ["| process | memory | descriptors | threads |", "|-|-:|-:|-:|"]
    cells: dict[str, list[str]] = defaultdict(list)
    for name, what, early, late, _ in flatness(soak["samples"]):
        scale, unit = (1024, " MB") if what == 0 else (1, "")
        cells[name].append(f"{early / scale:,.0f} to {late / scale:,.0f}{unit}")
    (keys,) = cells.pop("Redis")
    rows += [f"| {kind(name)} | {' | '.join(some)} |" for name, some in cells.items()]
    wrong = "\n\n" + "\n".join(f"- `{short(text)}`" for text in soak["violations"]) if soak["violations"] else ""
    return SOAK.read_text().format(
        minutes=f"{soak['minutes']:g}",
        faults=f"{soak['faults']:,}",
        jobs=f"{soak['jobs']:,}",
        rate=f"{soak['jobs'] / soak['minutes'] / 60:,.0f}",
        keys=keys,
        table="\n".join(rows),
        violations=len(soak["violations"]),
        wrong=wrong,
        version=soak["versions"]["bullrush"],
    )


def load_soak() -> Result | None:
    """Return the results of the last soak."""
    return json.loads(SAMPLES.read_text()) if SAMPLES.exists() else None


def main() -> None:
    PAGE.write_text(page(load(), load_soak()))


if __name__ == "__main__":
    main()
