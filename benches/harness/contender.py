"""Who is asked, and the figures by which answers are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
