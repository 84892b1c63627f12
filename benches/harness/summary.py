"""Medians, spreads, ratios and whether goals are met: plain data, the same from a run and from a file of results."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from benches.harness.contender import Figure
from benches.harness.measuring import Measurement
from benches.harness.question import Answer, Verdict
from benches.harness.ratio import middle, ratio


@dataclass(frozen=True)
class Line:
    """One contender's medians over all rounds; of the first figure also the worst and the best round.

    ``ratio`` is the ratio to the first line, ``of_limit`` the share of the limit.
    """

    name: str
    jobs: int
    figures: tuple[float, ...]
    worst: float
    best: float
    ratio: float
    of_limit: float | None
    server_us: float
    client_us: float
    jobs_per_call: float | None

    @property
    def ours(self) -> bool:
        """True for a way to use bullrush."""
        return self.name.startswith("bullrush")

    @property
    def peer(self) -> bool:
        """True for other products."""
        return not self.ours and not self.name.startswith("limit")


@dataclass(frozen=True)
class Summary:
    """The answer to a question, for tables and plots.

    ``others`` is the share of the machine that other programs used.
    """

    name: str
    title: str
    core: bool
    rounds: int
    seconds: float
    others: float
    figures: tuple[Figure, ...]
    lines: tuple[Line, ...]
    verdicts: tuple[Verdict, ...] = ()
    silent: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Summary:
        """Read the output of `to_json`."""
        plain = {name: value for name, value in content.items() if name not in {"figures", "lines", "verdicts"}}
        return cls(
            **plain,
            figures=tuple(Figure(**figure) for figure in content["figures"]),
            lines=tuple(Line(**{**line, "figures": tuple(line["figures"])}) for line in content["lines"]),
            verdicts=tuple(Verdict(**verdict) for verdict in content["verdicts"]),
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def best(self, *, ours: bool) -> Line | None:
        """Return the best of bullrush or of its peers; None: none has a result."""
        return max((line for line in self.lines if (line.ours if ours else line.peer)), key=_goodness, default=None)


def _goodness(line: Line) -> float:
    return line.ratio


def summarize(answer: Answer) -> Summary:
    """Return the summary of an answer."""
    question = answer.question
    names = [contender.name for contender in question.contenders if contender.name in answer.rounds]
    limit = next((contender.name for contender in question.contenders if contender.limit), None)
    found = [measured for rounds in answer.rounds.values() for measured in rounds]
    verdicts = (goal.judge(answer) for goal in question.goals)
    return Summary(
        name=question.name,
        title=question.title,
        core=question.core,
        rounds=max((len(rounds) for rounds in answer.rounds.values()), default=0),
        seconds=answer.seconds,
        others=sum(measured.others for measured in found) / len(found) if found else 0.0,
        figures=question.figures,
        lines=tuple(_line(answer, name, limit) for name in names),
        verdicts=tuple(verdict for verdict in verdicts if verdict is not None),
        silent=answer.silent,
    )


def _line(answer: Answer, name: str, limit: str | None) -> Line:
    rounds = answer.rounds[name]
    first = answer.question.figures[0]
    values = sorted((found.figure(first.name) for found in rounds), reverse=not first.rising)
    return Line(
        name=name,
        jobs=rounds[0].jobs,
        figures=tuple(middle(answer, name, figure) for figure in answer.question.figures),
        worst=values[0],
        best=values[-1],
        ratio=ratio(answer, name, next(iter(answer.rounds))),
        of_limit=ratio(answer, name, limit) if limit in answer.rounds else None,
        server_us=median(found.server_us for found in rounds),
        client_us=median(found.client_us for found in rounds),
        jobs_per_call=_jobs_per_call(rounds),
    )


def _jobs_per_call(rounds: list[Measurement]) -> float | None:
    """None: the contender uses no scripts."""
    calls = [sum(found.commands.get(name, (0, 0))[0] for name in ("evalsha", "eval")) for found in rounds]
    return median(found.jobs / count for found, count in zip(rounds, calls, strict=True)) if all(calls) else None
