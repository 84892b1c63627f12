"""The answers as tables for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benches.harness.rounds import Answer
from benches.harness.summary import Line, Summary, Verdict, summarize


def table(summary: Summary) -> str:
    """Return a question's figures and its goals."""
    header, *body = _rows(summary)
    widths = [max(len(row[column]) for row in (header, *body)) for column in range(len(header))]
    text = [summary.title, ""]
    for row in (header, *body):
        cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        text.append("  ".join((f"  {row[0].ljust(widths[0])}", *cells)))
    text += [f"  {name} {reason}" for name, reason in summary.silent.items()]
    if summary.verdicts:
        text += ["", *(f"  {_sentence(verdict)}" for verdict in summary.verdicts)]
    return "\n".join(text)


def markdown(summary: Summary) -> str:
    """Return the same table for the documentation."""
    header, *body = _rows(summary)
    text = [f"### {summary.title}", "", f"| {' | '.join(header)} |", f"|-{'|-:' * (len(header) - 1)}|"]
    text += [f"| {' | '.join(row)} |" for row in body]
    text += [f"| {name} | {reason} |{' |' * (len(header) - 2)}" for name, reason in summary.silent.items()]
    return "\n".join(text)


def read_json(path: Path) -> dict[str, Any]:
    """Read what was measured before."""
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def read_summaries(path: Path) -> list[Summary]:
    """Read the answers a file of results has."""
    return [Summary.from_json(content["summary"]) for content in read_json(path)["questions"].values()]


def write_json(path: Path, run: dict[str, Any], answers: Sequence[Answer]) -> None:
    """Write everything that was measured; what a file has of other questions stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = read_json(path)["questions"] if path.exists() else {}
    questions = {**before, **{answer.question.name: _content(answer, run) for answer in answers}}
    path.write_text(json.dumps({"run": run, "questions": questions}, indent=1) + "\n")


def _content(answer: Answer, run: dict[str, Any]) -> dict[str, object]:
    return {
        "run": run,
        "identities": answer.identities,
        "summary": summarize(answer).to_json(),
        "rounds": {name: [asdict(found) for found in rounds] for name, rounds in answer.rounds.items()},
    }


def _rows(summary: Summary) -> list[tuple[str, ...]]:
    first, *others = summary.figures
    limited = any(line.of_limit is not None for line in summary.lines)
    header = ["", "jobs", first.title, "worst - best", "ratio"]
    header += ["of limit"] * limited + [figure.title for figure in others]
    header += ["server us/job", "client us/job", "jobs/call"]
    return [tuple(header), *(tuple(_cells(summary, line, limited)) for line in summary.lines)]


def _cells(summary: Summary, line: Line, limited: bool) -> list[str]:
    first, *others = (figure.shown(value) for figure, value in zip(summary.figures, line.figures, strict=True))
    spread = f"{summary.figures[0].shown(line.worst)} - {summary.figures[0].shown(line.best)}"
    cells = [line.name, f"{line.jobs:,}", first, spread, f"{line.ratio:.2f}x"]
    cells += ["-" if line.of_limit is None else f"{line.of_limit:.0%}"] * limited + others
    calls = "-" if line.jobs_per_call is None else f"{line.jobs_per_call:.1f}"
    return [*cells, f"{line.server_us:.1f}", f"{line.client_us:.1f}", calls]


def _sentence(verdict: Verdict) -> str:
    goal = verdict.goal
    found = f"{goal.subject}: {verdict.ratio:.2f}x {goal.base}"
    required = "" if goal.at_least is None else f"; goal >= {goal.at_least:.1f}x: {'ok' if verdict.met else 'NOT MET'}"
    return f"{found}{required}; aim >= {goal.aim:.1f}x: {'ok' if verdict.ratio >= goal.aim else 'not yet'}"
