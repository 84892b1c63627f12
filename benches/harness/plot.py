"""One picture per run: for each question the first figure of all, bars for medians, whiskers for worst and best."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benches.harness.summary import Summary

#: A contender this many times above the median would hide the others.
_FAR = 20
_OURS, _PEERS, _LIMIT = "#c2410c", "#64748b", "#cbd5e1"


def draw(summaries: Sequence[Summary], folder: Path, name: str = "benchmarks") -> list[Path]:
    """Write the picture as PNG and SVG; without matplotlib write none."""
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        return []
    summaries = [summary for summary in summaries if summary.lines]
    if not summaries:
        return []
    heights = [len(summary.lines) * 0.28 + 0.9 for summary in summaries]
    canvas = Canvas(figsize=(9, sum(heights)), layout="constrained")
    axes = canvas.subplots(len(summaries), 1, height_ratios=heights, squeeze=False)
    for summary, (axis,) in zip(summaries, axes, strict=True):
        _bars(axis, summary)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    for path in paths:
        canvas.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths


def _bars(axis: object, summary: Summary) -> None:
    lines = list(summary.lines)
    first = summary.figures[0]
    middles = [line.figures[0] for line in lines]
    spread = [
        [max(0.0, middle - min(line.worst, line.best)) for middle, line in zip(middles, lines, strict=True)],
        [max(0.0, max(line.worst, line.best) - middle) for middle, line in zip(middles, lines, strict=True)],
    ]
    colors = [_color(line.name) for line in lines]
    axis.barh(  # type: ignore[attr-defined]
        [line.name for line in lines], middles, xerr=spread, color=colors, ecolor="#334155", capsize=2
    )
    axis.invert_yaxis()  # type: ignore[attr-defined]
    axis.set_title(summary.title, loc="left", fontsize=9)  # type: ignore[attr-defined]
    better = "more is better" if first.rising else "less is better"
    if not first.rising and max(middles) > _FAR * sorted(middles)[len(middles) // 2]:
        axis.set_xscale("log")  # type: ignore[attr-defined]
        better += ", logarithmic"
    axis.set_xlabel(f"{first.title} ({better})", fontsize=8)  # type: ignore[attr-defined]
    axis.tick_params(labelsize=8)  # type: ignore[attr-defined]


def _color(name: str) -> str:
    return _OURS if name.startswith("bullrush") else _LIMIT if name.startswith("limit") else _PEERS
