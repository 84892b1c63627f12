"""The answers as a table for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benches.harness.machine import Machine
from benches.harness.rounds import Answer
from benches.harness.summary import Line, Verdict, lines, verdicts

_HEADER = ("", "jobs", "jobs/s", "slowest - fastest", "ratio", "server us/job", "client us/job", "jobs/call")


def table(answer: Answer) -> str:
    """Return a question's figures and its goals."""
    rows = [_HEADER, *(_cells(line) for line in lines(answer))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    text = [answer.question.title, ""]
    for row in rows:
        cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        text.append("  ".join((f"  {row[0].ljust(widths[0])}", *cells)))
    found = verdicts(answer)
    if found:
        text += ["", *(f"  {_sentence(verdict)}" for verdict in found)]
    return "\n".join(text)


def markdown(answer: Answer) -> str:
    """Return the same table for the documentation."""
    text = [f"**{answer.question.title}**", "", f"| {' | '.join(_HEADER)} |", f"|-{'|-:' * (len(_HEADER) - 1)}|"]
    text += [f"| {' | '.join(_cells(line))} |" for line in lines(answer)]
    return "\n".join(text)


def write_json(path: Path, machine: Machine, settings: dict[str, object], answers: Sequence[Answer]) -> None:
    """Write everything that was measured."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "machine": asdict(machine),
        "settings": settings,
        "questions": {answer.question.name: _content(answer) for answer in answers},
    }
    path.write_text(json.dumps(content, indent=1) + "\n")


def _content(answer: Answer) -> dict[str, object]:
    return {
        "title": answer.question.title,
        "identities": answer.identities,
        "summary": [asdict(line) for line in lines(answer)],
        "goals": [{**asdict(verdict.goal), "ratio": verdict.ratio, "met": verdict.met} for verdict in verdicts(answer)],
        "rounds": {name: [asdict(found) for found in rounds] for name, rounds in answer.rounds.items()},
    }


def _cells(line: Line) -> tuple[str, ...]:
    return (
        line.name,
        f"{line.jobs:,}",
        f"{line.rate:,.0f}",
        f"{line.slowest:,.0f} - {line.fastest:,.0f}",
        f"{line.ratio:.2f}x",
        f"{line.server_us:.1f}",
        f"{line.client_us:.1f}",
        f"{line.jobs_per_call:.1f}",
    )


def _sentence(verdict: Verdict) -> str:
    goal = verdict.goal
    found = f"{goal.subject}: {verdict.ratio:.2f}x {goal.base}"
    required = "" if goal.at_least is None else f"; goal >= {goal.at_least:.1f}x: {'ok' if verdict.met else 'NOT MET'}"
    return f"{found}{required}; aim >= {goal.aim:.1f}x: {'ok' if verdict.ratio >= goal.aim else 'not yet'}"
