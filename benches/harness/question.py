"""What a benchmark asks, whom, and which answer would be good enough."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from benches.harness.contender import RATE, Contender, Figure
from benches.harness.server import IN_MEMORY, Setup

if TYPE_CHECKING:
    from benches.harness.measuring import Measurement
    from benches.harness.stage import Stage


class Goal(Protocol):
    """What an answer should be."""

    def judge(self, answer: Answer) -> Verdict | None:
        """Return whether it is; None: those it is about did not answer."""
        ...


class Work(Protocol):
    """What is done, and so how it is timed and checked."""

    def measure(self, stage: Stage) -> Measurement:
        """Let the contender on the stage do the work once.

        Raises:
            PeerError: it broke down, hung, or the work is not what was asked for.
        """
        ...


@dataclass(frozen=True)
class Verdict:
    """Whether a goal is met: in words for tables, and as a figure."""

    goal: str
    measured: str
    value: float
    met: bool


@dataclass(frozen=True)
class Question:
    """One comparison.

    Attributes:
        name: for the command line and the results.
        title: for people.
        work: what is done.
        contenders: who is asked; the first one is what the others are compared with.
        goals: what the answer should be.
        figures: what is compared; the first one decides.
        share: how many jobs it takes, in relation to the number asked for on the command line.
        payload: bytes of data in each job, about.
        setup: how Redis is set up.
        core: asked without ``--all``, too.
        rounds: more than these are not needed, as the answer hardly varies; None: as many as for the others.
        patience: seconds that a contender may take for one round; who takes longer is given up.
    """

    name: str
    title: str
    work: Work
    contenders: tuple[Contender, ...]
    goals: tuple[Goal, ...] = ()
    figures: tuple[Figure, ...] = (RATE,)
    share: float = 1.0
    payload: int = 100
    setup: Setup = IN_MEMORY
    core: bool = False
    rounds: int | None = None
    patience: float = 60.0

    def jobs_of(self, contender: Contender, jobs: int) -> int:
        """Return how many jobs a contender gets."""
        return max(100, round(jobs * self.share * contender.share))


@dataclass
class Answer:
    """What was measured for one question: for each contender one measurement per round.

    Attributes:
        question: the question.
        rounds: by contender's name; only of those who answered.
        identities: what each contender says of itself: versions.
        silent: why a contender gave no answer.
        failed: bullrush did not do its work, and so the run has failed.
        seconds: how long it took to ask.
    """

    question: Question
    rounds: dict[str, list[Measurement]] = field(default_factory=dict)
    identities: dict[str, str] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)
    failed: bool = False
    seconds: float = 0.0
