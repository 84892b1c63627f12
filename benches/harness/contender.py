"""Contenders, and the figures by which they are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Contender:
    """One way to do the work.

    Attributes:
        name: its name in the tables.
        command: starts the peer's process.
        task: the name of the task in the peer.
        options: options of the task, in the form of the peer.
        share: its share of the question's jobs: slow peers get less, so that a round takes about the same time for all.
        processes: how many processes do the work together.
        waiting: how many more jobs wait in the queue before the start.
        foreign: it has another key layout, so it fills the queue and counts by itself.
        ordered: it keeps the order in which jobs are added.
        limit: not a product but the limit of Redis itself; tables show how close the others come.
        returns: it ends by itself when no job is left, and its time counts until it says so.
        extra: measured only with ``--all``.
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
    returns: bool = False
    extra: bool = False


@dataclass(frozen=True)
class Figure:
    """One column of a table.

    Attributes:
        name: what a `Measurement` calls it.
        title: the column's heading, with the unit.
        digits: after the decimal point.
        rising: more is better.
    """

    name: str
    title: str
    digits: int = 0
    rising: bool = False

    def shown(self, value: float) -> str:
        """Return a value its name in the tables."""
        return f"{value:,.{self.digits}f}"


RATE = Figure("rate", "jobs/s", rising=True)


SERVER_US = Figure("server_us", "server us/job", digits=1)


#: See `benches.harness.script_calls`.
CALLS = Figure("calls", "commands in scripts per job", digits=1)


LONGEST_CALL = Figure("longest_call_ms", "longest script call ms", digits=1)
