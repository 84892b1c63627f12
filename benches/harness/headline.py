"""The small picture of the README and of the home page: bullrush beside its peers, adding and processing.

Its figures are those of the page of benchmarks, so the picture and the page always agree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

#: Title of a panel, start of the table's title, and the way of using bullrush that most programs use.
_PANELS = (
    ("Adding in bulk, from one process", "Bulk add: jobs per second", "bullrush, add_bulk"),
    ("Processing in one process, 100 at a time", "Process, concurrency 100:", "bullrush, def"),
)
_BULLMQ = ("BullMQ for Node", "BullMQ for Python")
#: Lines that are no other queue for Python.
_NOT_OTHER = ("bullrush", "BullMQ", "limit", "Asynq")
#: Beside the best two other queues, these are shown wherever they stand: most readers know them.
_KNOWN = ("Celery", "RQ")
FILES = ("headline.svg", "headline-dark.svg", "headline-narrow.svg", "headline-narrow-dark.svg", "headline.png")


@dataclass(frozen=True)
class Panel:
    """One table of the page: jobs per second, the fastest first."""

    title: str
    rates: dict[str, int]


@dataclass(frozen=True)
class Colors:
    """Colors of the picture on a light or a dark page."""

    text: str
    faint: str
    ours: str
    bullmq: str
    other: str


LIGHT = Colors("#1f2328", "#656d76", "#ea580c", "#64748b", "#cbd5e1")
DARK = Colors("#e6edf3", "#9aa4b0", "#fb923c", "#94a3b8", "#475569")


def read_panels(page: str) -> list[Panel]:
    """Return what the picture shows, from the tables of the page; none if the page lacks one of the tables."""
    panels = []
    for title, question, ours in _PANELS:
        table = re.search(
            rf"^### {re.escape(question)}.*?(?=^### |^<!-- figures: end|\Z)", page, re.MULTILINE | re.DOTALL
        )
        rows = re.findall(r"^\| ([^|]+) \| [\d,]+ \| ([\d,]+) \|", table[0] if table else "", re.MULTILINE)
        rates = {name: int(rate.replace(",", "")) for name, rate in rows}
        if not {ours, *_BULLMQ} <= rates.keys():
            return []
        rates = dict(sorted(rates.items(), key=lambda row: -row[1]))
        best = [name for name in rates if not name.startswith(_NOT_OTHER)][:2]
        shown = {ours, *_BULLMQ, *best, *_KNOWN}
        panels.append(Panel(title, {name.split(",")[0]: rate for name, rate in rates.items() if name in shown}))
    return panels


def read_conditions(page: str) -> str:
    """Return machine, server and date of the tables, as the page tells them."""
    machine = re.search(
        r"^(?P<cpu>.+?), (?P<cores>\d+) cores, .*?(?P<python>Python [\d.]+)\. (?P<redis>[^,]+),", page, re.MULTILINE
    )
    rounds, date = re.search(r"Asked for: (\d+) rounds", page), re.search(r"Measured on (\d{4}-\d\d-\d\d)", page)
    bullmq = [re.search(rf"^- bullmq ([\d.]+), {language}", page, re.MULTILINE) for language in ("Node", "Python")]
    parts = ["jobs per second"]
    parts += [f"{machine['cpu']}, {machine['cores']} cores, {machine['redis']}, {machine['python']}"] if machine else []
    parts += [f"BullMQ {bullmq[0][1]} (Node) and {bullmq[1][1]} (Python)"] if bullmq[0] and bullmq[1] else []
    parts += [f"medians of {rounds[1]} rounds"] if rounds else []
    return " · ".join([*parts, *([date[1]] if date else [])])


def draw_headline(page: Path, folder: Path) -> list[Path]:
    """Write the picture for light, dark and narrow pages; without matplotlib or the two tables write none."""
    text = page.read_text()
    panels = read_panels(text)
    try:
        from matplotlib import rc_context
    except ImportError:
        return []
    if not panels:
        return []
    folder.mkdir(exist_ok=True)
    for name in FILES:
        canvas = _drawn(panels, read_conditions(text), DARK if "dark" in name else LIGHT, narrow="narrow" in name)
        paper = "white" if name.endswith(".png") else "none"
        # No date and no version: the same figures give the same file.
        metadata = {"Date": None, "Creator": None} if name.endswith(".svg") else {"Software": None}
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
            canvas.savefig(folder / name, dpi=200, facecolor=paper, metadata=metadata)
    return [folder / name for name in FILES]


def _drawn(panels: list[Panel], conditions: str, colors: Colors, narrow: bool) -> Any:
    """Return the panels side by side, or for telephones one below the other."""
    from matplotlib.figure import Figure

    width, height, across, down = (380, 500, 1, 2) if narrow else (760, 260, 2, 1)
    canvas = Figure(figsize=(width / 96, height / 96))
    notes = fill(conditions, 60) if narrow else conditions
    note = 24 / height * (1 + notes.count("\n") * 0.7)
    for place, panel in enumerate(panels):
        left, top = place % across / across, 1 - (1 - note) * (place // across) / down
        axis = canvas.add_axes(
            (left + 0.335 / across, top - (1 - note) / down, 0.49 / across, (1 - note) / down - 36 / height)
        )
        _fill(axis, panel, colors)
        canvas.text(
            left + 9 / width, top - 18 / height, panel.title, color=colors.text, size=10, weight="bold", va="center"
        )
    canvas.text(9 / width, note / 2, notes, color=colors.faint, size=7.5, va="center")
    return canvas


def _fill(axis: Any, panel: Panel, colors: Colors) -> None:
    axis.barh(list(panel.rates), list(panel.rates.values()), 0.66, color=[_color(name, colors) for name in panel.rates])
    axis.invert_yaxis()
    axis.set_axis_off()
    for row, (name, rate) in enumerate(panel.rates.items()):
        ours = {"color": colors.ours, "weight": "bold"} if name == "bullrush" else {"color": colors.text}
        near = {"textcoords": "offset points", "va": "center", "size": 9, **ours}
        axis.annotate(name, (0, row), (-6, 0), ha="right", **near)
        axis.annotate(f"{rate:,}", (rate, row), (5, 0), **near)


def _color(name: str, colors: Colors) -> str:
    return colors.ours if name == "bullrush" else colors.bullmq if name in _BULLMQ else colors.other


if __name__ == "__main__":
    docs = Path(__file__).parents[2] / "docs"
    draw_headline(docs / "benchmarks.md", docs / "images")
