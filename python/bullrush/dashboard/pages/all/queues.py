"""Which queues a page about all of them reads: as many as it may cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bullrush.aio import Queue
from bullrush.dashboard.answer import Asked
from bullrush.dashboard.rights import Action
from bullrush.extending import now_ms, run_async
from bullrush.inspection import Overview, overviews

_HOUR = 3_600_000


class Chosen(NamedTuple):
    """The queues of a page.

    Attributes:
        queues: those that are read, with their numbers.
        left_out: how many others there are of which something could be shown.
    """

    queues: list[tuple[Queue, Overview]]
    left_out: int


async def readable(asked: Asked, *actions: Action) -> list[Queue]:
    """Return the queues in which the viewer may do all of this."""
    names = (await asked.source.names.value()).queues
    seen = [name for name in names if all([await asked.viewer.may(action, name) for action in actions])]
    return [asked.source.queue(name) for name in seen]


async def choose(queues: Sequence[Queue], weight: Callable[[Overview], int], most: int) -> Chosen:
    """Return those of which most is to be shown.

    Args:
        queues: the queues.
        weight: tells how much there is of a queue; 0 leaves it out.
        most: how many queues at most.
    """
    found = await run_async(overviews(queues, now_ms() - _HOUR))
    weighed = [(queue, one) for queue, one in zip(queues, found, strict=True) if weight(one)]
    weighed.sort(key=lambda one: -weight(one[1]))
    return Chosen(weighed[:most], max(0, len(weighed) - most))
