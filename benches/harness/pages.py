"""Puts tables and plots of a result file into docs/benchmarks.md, between its two marks. Rules make the sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benches.harness.headline import draw_headline
from benches.harness.peer import ROOT
from benches.harness.plot import draw
from benches.harness.report import goals, markdown, piped, read_json, read_summaries
from benches.harness.summary import Summary

PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: begin, written by `make bench ARGS=--docs` -->", "<!-- figures: end -->"
#: A smaller lead does not count.
_LEAD = 1.005


def publish(results: Path, page: Path = PAGE) -> None:
    """Replace the figures of the page by those of a file of results.

    Raises:
        ValueError: the page has no marks.
    """
    text = page.read_text()
    head, found, rest = text.partition(BEGIN)
    _, ended, tail = rest.partition(END)
    if not (found and ended):
        raise ValueError(f"{page} has no place for figures: {BEGIN} ... {END}")
    content = read_json(results)
    summaries = read_summaries(results)
    pictures = draw([summary for summary in summaries if summary.core] or summaries, page.parent)
    parts = [
        _conditions(content["run"], summaries),
        "### At a glance",
        _overview(summaries),
        *_picture(pictures),
        *(markdown(summary) for summary in summaries),
        "### Who was asked",
        _identities(content["questions"].values(), summaries),
        "### Where a peer is ahead of the best of bullrush",
        _behind(summaries),
        "### Goals",
        goals(summaries),
    ]
    page.write_text("\n\n".join((head + BEGIN, *parts, END)) + tail)
    draw_headline(page, page.parent / "images")


def _conditions(run: dict[str, Any], summaries: Sequence[Summary]) -> str:
    machine = run["machine"]
    seconds = sum(summary.seconds for summary in summaries)
    others = sum(summary.others * summary.seconds for summary in summaries) / (seconds or 1)
    measured = f" Measured on {run['date']}." if "date" in run else ""
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}. "
        f"{machine['server']}. Asked for: {run['rounds']} rounds, {run['jobs']:,} jobs; how many each got stands in "
        f"the tables. The questions took {seconds / 60:.0f} minutes, in which other programs used {others:.0%} of the "
        f"machine.{measured}"
    )


def _picture(pictures: list[Path]) -> list[str]:
    return [f"![the first figure of each table, with worst and best round]({pictures[-1].name})"] if pictures else []


def _overview(summaries: Iterable[Summary]) -> str:
    rows = [["question", "best of bullrush", "", "its ratio", "best peer", "", "its ratio"]]
    for summary in summaries:
        lines = [summary.best(ours=ours) for ours in (True, False)]
        cells = [
            [line.name.removeprefix("bullrush, "), _first(summary, line.figures[0]), f"{line.ratio:.2f}x"]
            if line
            else ["-"] * 3
            for line in lines
        ]
        rows.append([summary.title, *cells[0], *cells[1]])
    return "\n".join(piped(rows))


def _first(summary: Summary, value: float) -> str:
    figure = summary.figures[0]
    return f"{figure.shown(value)} {figure.title}"


def _identities(questions: Iterable[dict[str, Any]], summaries: Sequence[Summary]) -> str:
    said = {name: identity for question in questions for name, identity in question["identities"].items()}
    silent = {name: reason for summary in summaries for name, reason in summary.silent.items() if name not in said}
    identities = sorted(set(said.values()), key=str.lower)
    return "\n".join(
        [*(f"- {identity}" for identity in identities), *(f"- {name} {why}" for name, why in silent.items())]
    )


def _behind(summaries: Iterable[Summary]) -> str:
    """Return where a peer is ahead, found by a rule."""
    rows = []
    for summary in summaries:
        best, peer = summary.best(ours=True), summary.best(ours=False)
        if best and peer and (lead := peer.ratio / best.ratio if best.ratio else float("inf")) > _LEAD:
            rows.append(f"- {summary.title}: {peer.name} is {lead:.2f} times as good as {best.name}.")
    return "\n".join(rows or ["Nowhere in these tables."])
