"""The option ``-Q`` of the command: which queue, how many of its jobs at a time, and its share of the turns."""

from __future__ import annotations

from typing import NamedTuple

from bullrush.cli.terminal.options import count


class QueueChoice(NamedTuple):
    """A queue that the command runs.

    Attributes:
        name: the queue's name.
        concurrency: at most that many of its jobs at a time; None if that was not given.
        weight: how many turns it gets for each turn of a queue of weight 1; None if that was not given.
    """

    name: str
    concurrency: int | None = None
    weight: int | None = None

    def __str__(self) -> str:
        number = "" if self.concurrency is None else f"={self.concurrency}"
        return f"{self.name}{number}{'' if self.weight is None else f':{self.weight}'}"


def read_queue(text: str) -> QueueChoice:
    """Read ``NAME[=N][:WEIGHT]``. A name may contain ``=``, but no colon.

    Raises:
        argparse.ArgumentTypeError: a number is none, or is less than 1.
    """
    before, colon, weight = text.partition(":")
    name, equals, number = before.rpartition("=")
    if not equals:
        name = before
    return QueueChoice(name, count(number) if equals else None, count(weight) if colon else None)
