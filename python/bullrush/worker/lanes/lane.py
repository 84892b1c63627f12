"""What a worker knows of a queue that it serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Lane:
    """A queue that a worker serves.

    Attributes:
        queue: the queue's name.
        weight: how many turns it gets for each turn of a queue of weight 1, while both have jobs.
        concurrency: at most that many of its jobs at a time; None: as many as the worker runs.
        tier: how exactly the queue is meant for this worker. With ``strict`` better tiers come first.
        registered: somebody uses the queue; until then the worker creates no keys of it.
    """

    queue: str
    weight: int = 1
    concurrency: int | None = None
    tier: Literal["server", "specific", "base"] = "base"
    registered: bool = True
