"""Ratios between contenders."""

from __future__ import annotations

from statistics import median

from benches.harness.contender import Figure
from benches.harness.question import Answer


def middle(answer: Answer, name: str, figure: Figure) -> float:
    """Return a contender's median over rounds."""
    return median(found.figure(figure.name) for found in answer.rounds[name])


def ratio(answer: Answer, subject: str, base: str, figure: Figure | None = None) -> float:
    """Return the ratio of one contender to another: the median of the ratios within each round.

    Above 1 is better, also if less of the figure is better. Without a figure it is the question's first one.
    """
    figure = figure or answer.question.figures[0]
    pairs = zip(answer.rounds[subject], answer.rounds[base], strict=True)
    quotients = [_divided(one.figure(figure.name), other.figure(figure.name)) for one, other in pairs]
    return median(quotients) if figure.rising else _divided(1.0, median(quotients))


def _divided(one: float, other: float) -> float:
    return one / other if other else float("inf") if one else 1.0
