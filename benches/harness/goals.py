"""Goals: a minimum ratio to another contender, or a bound of a figure. A rule decides whether one is met."""

from __future__ import annotations

from dataclasses import dataclass

from benches.harness.contender import Figure
from benches.harness.question import Answer, Verdict
from benches.harness.ratio import middle, ratio

#: Instead of a base: the best of all peers that answered.
EVERY_PEER = "every peer"


@dataclass(frozen=True)
class Times:
    """A minimum ratio of one contender to another.

    Attributes:
        subject: which contender.
        base: compared with which; `EVERY_PEER`: with the best of them.
        at_least: the ratio.
        figure: which figure; None: the question's first one.
        beside: two others, whose ratio is also shown; None: no ratio.
    """

    subject: str
    base: str
    at_least: float
    figure: Figure | None = None
    beside: tuple[str, str] | None = None

    def judge(self, answer: Answer) -> Verdict | None:
        """Return whether it is met."""
        bases = _peers(answer) if self.base == EVERY_PEER else [name for name in answer.rounds if name == self.base]
        if self.subject not in answer.rounds or not bases:
            return None
        found, base = min((ratio(answer, self.subject, base, self.figure), base) for base in bases)
        title = "" if self.figure is None else f", {self.figure.title}"
        goal = f"{self.subject}{title}: at least {self.at_least:.3g}x {self.base}"
        whose = f" {base}" if self.base == EVERY_PEER else ""
        if self.beside and set(self.beside) <= answer.rounds.keys():
            whose += f" ({self.beside[0]}: {ratio(answer, *self.beside, self.figure):.2f}x)"
        return Verdict(goal, f"{found:.2f}x{whose}", found, round(found, 2) >= round(self.at_least, 2))


@dataclass(frozen=True)
class AtLeast:
    """A lower bound of a figure, the same on every machine.

    Attributes:
        subject: which contender.
        figure: which.
        bound: how much.
    """

    subject: str
    figure: Figure
    bound: float

    def judge(self, answer: Answer) -> Verdict | None:
        """Return whether it is met."""
        if self.subject not in answer.rounds:
            return None
        found = middle(answer, self.subject, self.figure)
        goal = f"{self.subject}: {self.figure.title} at least {self.bound:,g}"
        return Verdict(goal, self.figure.shown(found), found, found >= self.bound)


@dataclass(frozen=True)
class AtMost:
    """A figure must not exceed a bound.

    Attributes:
        subject: which contender.
        figure: which.
        bound: how much.
        beside: the contender whose figure is also shown, since the speed of the machine is in both; None: none.
        where: the figure of that contender on the machine for which the bound was set; it converts the measured one.
            None: the bound is the same on every machine.
    """

    subject: str
    figure: Figure
    bound: float
    beside: str | None = None
    where: float | None = None

    def judge(self, answer: Answer) -> Verdict | None:
        """Return whether it is met."""
        if self.subject not in answer.rounds or (self.where and self.beside not in answer.rounds):
            return None
        goal = f"{self.subject}: {self.figure.title} at most {self.bound:g}"
        found = here = middle(answer, self.subject, self.figure)
        seen = []
        if self.where and self.beside:
            goal += f" where {self.beside} takes {self.where:g}"
            found = self.where / ratio(answer, self.subject, self.beside, self.figure)
            seen.append(f"here {self.figure.shown(here)}")
        if self.beside in answer.rounds:
            seen.append(f"{self.beside}: {self.figure.shown(middle(answer, self.beside, self.figure))}")
        measured = self.figure.shown(found) + (f" ({', '.join(seen)})" if seen else "")
        return Verdict(goal, measured, found, found <= self.bound)


def _peers(answer: Answer) -> list[str]:
    products = [contender.name for contender in answer.question.contenders if not contender.limit]
    return [name for name in products if name in answer.rounds and not name.startswith("bullrush")]
