"""Puts tables and plots of a file of results into docs/benchmarks.md, between its two marks."""

from __future__ import annotations

from pathlib import Path

from benches.harness.peer import ROOT
from benches.harness.plot import draw
from benches.harness.report import markdown, read_json, read_summaries
from benches.harness.summary import Summary

PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: begin, written by `make bench ARGS=--docs` -->", "<!-- figures: end -->"


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
    summaries = read_summaries(results)
    pictures = draw(summaries, page.parent)
    run = read_json(results)["run"]
    parts = [_conditions(run), *_picture(pictures), *(markdown(summary) for summary in summaries), _behind(summaries)]
    page.write_text("\n\n".join((head + BEGIN, *parts, END)) + tail)


def _conditions(run: dict[str, object]) -> str:
    machine = run["machine"]
    assert isinstance(machine, dict)
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}. "
        f"{machine['server']}. {run['rounds']} rounds; {run['jobs']:,} jobs per round of the fastest."
    )


def _picture(pictures: list[Path]) -> list[str]:
    return [f"![the first figure of each table, with worst and best round]({pictures[-1].name})"] if pictures else []


def _behind(summaries: list[Summary]) -> str:
    """Say where a peer is ahead: found by rule, so that nobody has to admit it."""
    rows = []
    for summary in summaries:
        ours = [line for line in summary.lines if line.name.startswith("bullrush")]
        peers = [line for line in summary.lines if not line.name.startswith(("bullrush", "limit"))]
        if not ours or not peers:
            continue
        best, peer = max(ours, key=lambda line: line.ratio), max(peers, key=lambda line: line.ratio)
        if peer.ratio > best.ratio:
            rows.append(
                f"- {summary.title}: {peer.name} is {peer.ratio / best.ratio:.2f} times as good as {best.name}."
            )
    return "\n".join(["### Where a peer is ahead of the best of bullrush", "", *(rows or ["Nowhere in these tables."])])
