"""What the main thread of the command waits for."""

from __future__ import annotations

from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from bullrush.cli.terminal.ending import SIGNAL_WAIT

StepT = TypeVar("StepT")


class Steps(Generic[StepT]):
    """What comes next, in order: from any thread, and from signal handlers, to the main thread."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[StepT] = SimpleQueue()

    def put(self, step: StepT) -> None:
        """Add one."""
        self._queue.put(step)

    def next(self) -> StepT:
        """Return the next one; wait for it, and run signal handlers meanwhile."""
        while True:
            try:
                return self._queue.get(timeout=SIGNAL_WAIT)
            except Empty:
                continue
