"""What a benchmark asks, whom, and which answer would be good enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from benches.harness.server import IN_MEMORY, Setup

if TYPE_CHECKING:
    from benches.harness.goals import Verdict
    from benches.harness.measuring import Measurement
    from benches.harness.rounds import Answer
    from benches.harness.stage import Stage


@dataclass(frozen=True)
class Contender:
    """One way to do the work.

    Attributes:
        name: as it stands in the tables.
        command: starts the peer's process.
        task: what the peer is told to do; its own word for it.
        options: more about the task, as the peer understands it.
        share: how many of the question's jobs it gets: slow peers get less, so that a round lasts about as long for all.
        processes: how many processes do the work together.
        waiting: how many more jobs wait in the queue beforehand.
        foreign: it keeps its jobs in its own way, so that it fills the queue and counts by itself.
        ordered: it keeps the order in which jobs are added.
        limit: no product, but what Redis itself can do; the others are told how close they come to it.
        extra: asked only with ``--all``.
    """

    name: str
    command: tuple[str, ...]
    task: str
    options: Mapping[str, object] = field(default_factory=dict)
    share: float = 1.0
    processes: int = 1
    waiting: int = 0
    foreign: bool = False
    ordered: bool = True
    limit: bool = False
    extra: bool = False


@dataclass(frozen=True)
class Figure:
    """One column of a table.

    Attributes:
        name: what a `Measurement` calls it.
        title: the column's heading, with the unit.
        digits: behind the point.
        rising: more is better.
    """

    name: str
    title: str
    digits: int = 0
    rising: bool = False

    def shown(self, value: float) -> str:
        """Return a value as it stands in the tables."""
        return f"{value:,.{self.digits}f}"


RATE = Figure("rate", "jobs/s", rising=True)
SERVER_US = Figure("server_us", "server us/job", digits=1)
LONGEST_CALL = Figure("longest_call_ms", "longest script call ms", digits=1)


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
