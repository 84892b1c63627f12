"""The answers as tables for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benches.harness.question import Answer
from benches.harness.summary import Line, Summary, summarize

#: Columns of every table: a figure of the question that is one of them is shown once.
_ALWAYS = {"server_us", "client_us"}


def table(summary: Summary) -> str:
    """Return a question's figures and its goals."""
    text = [summary.title, "", *aligned(_rows(summary))]
    text += [f"  {name} {reason}" for name, reason in summary.silent.items()]
    goals = (
        ["goals", "measured", "met"],
        *([one.goal, one.measured, "yes" if one.met else "NO"] for one in summary.verdicts),
    )
    return "\n".join([*text, "", *aligned(goals, left=2)] if summary.verdicts else text)


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return rows as lines of text: the first columns left-aligned, the others right-aligned."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:left], widths, strict=False)]
        cells += [cell.rjust(width) for cell, width in zip(row[left:], widths[left:], strict=True)]
        lines.append(f"  {'  '.join(cells)}")
    return lines


def markdown(summary: Summary) -> str:
    """Return a question's figures for the documentation."""
    header, *body = _rows(summary)
    body += [[name, reason.replace("|", "/"), *[""] * (len(header) - 2)] for name, reason in summary.silent.items()]
    counted = f"{summary.rounds} round{'s' * (summary.rounds > 1)} in {summary.seconds:.0f} s."
    return "\n".join([f"### {summary.title}", "", counted, "", *piped([header, *body])])


def goals(summaries: Iterable[Summary]) -> str:
    """Return one table of all goals, for the documentation."""
    judged = [(summary.name, one) for summary in summaries for one in summary.verdicts]
    rows = [[name, one.goal, one.measured, "yes" if one.met else "**no**"] for name, one in judged]
    return "\n".join(piped([["question", "goal", "measured", "met"], *rows], left=4))


def piped(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return rows as a Markdown table: the first columns left-aligned, the others right-aligned."""
    header, *body = rows
    rule = f"|{'|'.join(['-'] * left + ['-:'] * (len(header) - left))}|"
    return [f"| {' | '.join(header)} |", rule, *(f"| {' | '.join(row)} |" for row in body)]


def read_json(path: Path) -> dict[str, Any]:
    """Read the last measurements."""
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def read_summaries(path: Path) -> list[Summary]:
    """Read the answers of a result file."""
    return [Summary.from_json(content["summary"]) for content in read_json(path)["questions"].values()]


def write_json(path: Path, run: dict[str, Any], answers: Sequence[Answer]) -> None:
    """Write all measurements; other questions of the file stay."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = read_json(path) if path.exists() else {"run": run, "questions": {}}
    questions = {**before["questions"], **{answer.question.name: _content(answer, run) for answer in answers}}
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps({"run": before["run"], "questions": questions}, indent=1) + "\n")
    unfinished.replace(path)


def _content(answer: Answer, run: dict[str, Any]) -> dict[str, object]:
    return {
        "run": run,
        "identities": answer.identities,
        "summary": summarize(answer).to_json(),
        "rounds": {name: [asdict(found) for found in rounds] for name, rounds in answer.rounds.items()},
    }


def _rows(summary: Summary) -> list[list[str]]:
    limited = any(line.of_limit is not None for line in summary.lines)
    header = ["", "jobs", summary.figures[0].title, "worst - best", "ratio"]
    header += ["of limit"] * limited + [figure.title for figure in summary.figures[1:] if figure.name not in _ALWAYS]
    header += ["server us/job", "client us/job", "jobs/call"]
    return [header, *(_cells(summary, line, limited) for line in summary.lines)]


def _cells(summary: Summary, line: Line, limited: bool) -> list[str]:
    first = summary.figures[0]
    pairs = list(zip(summary.figures, line.figures, strict=True))[1:]
    cells = [line.name, f"{line.jobs:,}", first.shown(line.figures[0])]
    cells += [f"{first.shown(line.worst)} - {first.shown(line.best)}", f"{line.ratio:.2f}x"]
    cells += ["-" if line.of_limit is None else f"{line.of_limit:.0%}"] * limited
    cells += [figure.shown(value) for figure, value in pairs if figure.name not in _ALWAYS]
    calls = "-" if line.jobs_per_call is None else f"{line.jobs_per_call:.1f}"
    return [*cells, f"{line.server_us:.1f}", f"{line.client_us:.1f}", calls]
