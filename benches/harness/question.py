"""What a benchmark asks, whom, and which answer would be good enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

#: What there is to do: put jobs into a queue, or run those that are there.
Work = Literal["add", "process"]


@dataclass(frozen=True)
class Contender:
    """One way to do the work.

    Attributes:
        name: as it stands in the tables.
        command: starts the peer's process.
        task: what the peer is told to do; its own word for it.
        options: more about the task, as the peer understands it.
        share: how many of the question's jobs it gets: slow peers get less, so that a round lasts about as long for all.
    """

    name: str
    command: tuple[str, ...]
    task: str
    options: Mapping[str, object] = field(default_factory=dict)
    share: float = 1.0


@dataclass(frozen=True)
class Goal:
    """How many times as fast as another contender one has to be.

    Attributes:
        subject: who.
        base: than whom.
        aim: what is wanted in the end.
        at_least: what is required now; None: nothing yet.
    """

    subject: str
    base: str
    aim: float
    at_least: float | None = None


@dataclass(frozen=True)
class Question:
    """One comparison.

    Attributes:
        name: for the command line and the results.
        title: for people.
        work: what is done, and so how it is timed and checked.
        contenders: who is asked; the first one is what the others are compared with.
        goals: what the answer should be.
        share: how many jobs it takes, in relation to the number asked for on the command line.
    """

    name: str
    title: str
    work: Work
    contenders: tuple[Contender, ...]
    goals: tuple[Goal, ...] = ()
    share: float = 1.0

    def jobs_of(self, contender: Contender, jobs: int) -> int:
        """Return how many jobs a contender gets."""
        return max(100, round(jobs * self.share * contender.share))
