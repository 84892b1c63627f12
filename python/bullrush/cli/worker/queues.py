"""The option ``-Q`` of the command: which queue, how many of its jobs at a time, and its share of the turns."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from bullrush.cli.terminal.ending import USAGE, CommandError
from bullrush.cli.terminal.options import count

#: ``mail=3,video=2``: several queues in one text, as other tools take them.
_LIST: Final = re.compile(r"[^,]*[=:]\d+,.+")


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
        argparse.ArgumentTypeError: a number is none, or is less than 1; or there are several queues.
    """
    if "://" in text:
        raise argparse.ArgumentTypeError(f"{text} is a URL, which is given with --url, and not the name of a queue")
    if _LIST.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} names several queues: write -Q for each, {_each(text)}")
    before, colon, weight = text.partition(":")
    name, equals, number = before.rpartition("=")
    if not equals:
        name = before
    return QueueChoice(name, count(number) if equals else None, count(weight) if colon else None)


def check_queues(queues: Sequence[QueueChoice]) -> None:
    """Refuse a queue that is named twice: one of its numbers would win without a word.

    Raises:
        CommandError: a queue is named twice.
    """
    names = [queue.name for queue in queues]
    for name in names:
        if names.count(name) > 1:
            both = " ".join(f"-Q {queue}" for queue in queues if queue.name == name)
            raise CommandError(f"{both}: the queue {name!r} stands twice; give it once", USAGE)


def _each(text: str) -> str:
    return " ".join(f"-Q {part.strip()}" for part in text.split(","))
