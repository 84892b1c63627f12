"""What the main thread of the command waits for."""

from __future__ import annotations

from queue import Empty, SimpleQueue
from typing import Final, Generic, TypeVar

StepT = TypeVar("StepT")

#: Seconds of one wait of the main thread. The kernel may give a signal to another thread, as after SIGSTOP and SIGCONT.
#: Its handler runs on the main thread, which no such signal wakes.
_WAIT: Final = 0.2


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
                return self._queue.get(timeout=_WAIT)
            except Empty:
                continue
