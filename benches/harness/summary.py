"""Medians, spreads, ratios and whether goals are met: plain data, the same from a run and from a file of results."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from benches.harness.measuring import Measurement
from benches.harness.question import Figure, Goal
from benches.harness.rounds import Answer


@dataclass(frozen=True)
class Line:
    """One contender's medians over all rounds; of the first figure also the worst and the best round.

    ``ratio`` says how many times as good as the first line it is, ``of_limit`` which part of the limit it reaches.
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


@dataclass(frozen=True)
class Verdict:
    """Whether a goal is met."""

    goal: Goal
    ratio: float

    @property
    def met(self) -> bool:
        """True if what is required now is reached."""
        return self.goal.at_least is None or self.ratio >= self.goal.at_least


@dataclass(frozen=True)
class Summary:
    """The answer to a question as it stands in tables and plots."""

    name: str
    title: str
    figures: tuple[Figure, ...]
    lines: tuple[Line, ...]
    verdicts: tuple[Verdict, ...] = ()
    silent: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Summary:
        """Read what `to_json` made."""
        return cls(
            name=content["name"],
            title=content["title"],
            figures=tuple(Figure(**figure) for figure in content["figures"]),
            lines=tuple(Line(**{**line, "figures": tuple(line["figures"])}) for line in content["lines"]),
            verdicts=tuple(Verdict(Goal(**verdict["goal"]), verdict["ratio"]) for verdict in content["verdicts"]),
            silent=content["silent"],
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def summarize(answer: Answer) -> Summary:
    """Return the summary of an answer."""
    question = answer.question
    names = [contender.name for contender in question.contenders if contender.name in answer.rounds]
    limit = next((contender.name for contender in question.contenders if contender.limit), None)
    goals = [goal for goal in question.goals if {goal.subject, goal.base} <= answer.rounds.keys()]
    return Summary(
        name=question.name,
        title=question.title,
        figures=question.figures,
        lines=tuple(_line(answer, name, limit) for name in names),
        verdicts=tuple(Verdict(goal, ratio(answer, goal.subject, goal.base)) for goal in goals),
        silent=answer.silent,
    )


def ratio(answer: Answer, subject: str, base: str) -> float:
    """Return how many times as good one contender is as another: the median over rounds, each compared within itself."""
    figure = answer.question.figures[0]
    pairs = zip(answer.rounds[subject], answer.rounds[base], strict=True)
    quotients = [_divided(one.figure(figure.name), other.figure(figure.name)) for one, other in pairs]
    return median(quotients) if figure.rising else _divided(1.0, median(quotients))


def _line(answer: Answer, name: str, limit: str | None) -> Line:
    rounds = answer.rounds[name]
    first = answer.question.figures[0]
    values = sorted((found.figure(first.name) for found in rounds), reverse=not first.rising)
    return Line(
        name=name,
        jobs=rounds[0].jobs,
        figures=tuple(median(found.figure(figure.name) for found in rounds) for figure in answer.question.figures),
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


def _divided(one: float, other: float) -> float:
    return one / other if other else float("inf") if one else 1.0
