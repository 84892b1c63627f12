"""Medians, spreads, ratios and whether goals are met."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from benches.harness.question import Goal
from benches.harness.rounds import Answer


@dataclass(frozen=True)
class Line:
    """One contender's figures over all rounds: medians, and for rates the slowest and the fastest round."""

    name: str
    jobs: int
    rate: float
    slowest: float
    fastest: float
    ratio: float
    server_us: float
    client_us: float
    jobs_per_call: float


@dataclass(frozen=True)
class Verdict:
    """Whether a goal is met."""

    goal: Goal
    ratio: float

    @property
    def met(self) -> bool:
        """True if what is required now is reached."""
        return self.goal.at_least is None or self.ratio >= self.goal.at_least


def ratio(answer: Answer, subject: str, base: str) -> float:
    """Return how many times as fast one contender is as another: the median over rounds, each compared within itself."""
    pairs = zip(answer.rounds[subject], answer.rounds[base], strict=True)
    return median(one.rate / other.rate for one, other in pairs)


def lines(answer: Answer) -> list[Line]:
    """Return a line for each contender."""
    base = answer.question.contenders[0].name
    return [_line(answer, contender.name, base) for contender in answer.question.contenders]


def verdicts(answer: Answer) -> list[Verdict]:
    """Return for each goal whether it is met."""
    return [Verdict(goal, ratio(answer, goal.subject, goal.base)) for goal in answer.question.goals]


def _line(answer: Answer, name: str, base: str) -> Line:
    rounds = answer.rounds[name]
    rates = [found.rate for found in rounds]
    return Line(
        name=name,
        jobs=rounds[0].jobs,
        rate=median(rates),
        slowest=min(rates),
        fastest=max(rates),
        ratio=ratio(answer, name, base),
        server_us=median(found.server_us for found in rounds),
        client_us=median(found.client_us for found in rounds),
        jobs_per_call=median(found.jobs / max(1, found.commands.get("evalsha", (0, 0))[0]) for found in rounds),
    )
