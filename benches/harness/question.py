"""A question of the benchmarks: the work, the contenders and the goals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from benches.harness.contender import RATE, Contender, Figure
from benches.harness.server import IN_MEMORY, Setup

if TYPE_CHECKING:
    from benches.harness.measuring import Measurement
    from benches.harness.stage import Stage


class Goal(Protocol):
    """A goal for an answer."""

    def judge(self, answer: Answer) -> Verdict | None:
        """Return whether it is met; None: its contenders have no result."""
        ...


class Work(Protocol):
    """The work: how it is done, timed and checked."""

    def measure(self, stage: Stage) -> Measurement:
        """Let the contender of the stage do the work once.

        Raises:
            PeerError: it failed, hung, or did not do the work.
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
        contenders: the first one is the base of all ratios.
        goals: what the answer should be.
        figures: the compared figures; the first one decides.
        share: how many jobs it takes, in relation to the number asked for on the command line.
        payload: bytes of data in each job, about.
        setup: how Redis is set up.
        core: measured without ``--all`` too.
        rounds: the most rounds needed, if the answer hardly varies; None: as many as the others.
        max_seconds: the most seconds for one round; a slower contender is left out.
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
    max_seconds: float = 60.0

    def jobs_of(self, contender: Contender, jobs: int) -> int:
        """Return how many jobs a contender gets."""
        return max(100, round(jobs * self.share * contender.share))


@dataclass
class Answer:
    """What was measured for one question: for each contender one measurement per round.

    Attributes:
        question: the question.
        rounds: by contender's name; only those with a result.
        identities: name and versions of each contender.
        silent: why a contender has no result.
        failed: bullrush did not do its work, so the run has failed.
        seconds: how long it took.
    """

    question: Question
    rounds: dict[str, list[Measurement]] = field(default_factory=dict)
    identities: dict[str, str] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)
    failed: bool = False
    seconds: float = 0.0
