"""What was seen of queues that seemed stuck: then the next look is the second one."""

from __future__ import annotations

import time
from typing import Final

from bullrush.inspection import SECOND_LOOK, DueWork

#: A look that is older, in s, is no longer the first of two.
_OLDEST: Final = 60.0
#: More queues than this are forgotten: somebody may ask for any number of queues.
_MOST: Final = 2_000


class FirstLooks:
    """The first look at each queue that seems stuck."""

    def __init__(self) -> None:
        """Know nothing."""
        self._looks: dict[str, tuple[float, DueWork]] = {}

    def add(self, queue: str, work: DueWork) -> None:
        """Note a first look of now."""
        if len(self._looks) >= _MOST:
            self._looks.clear()
        self._looks[queue] = time.monotonic(), work

    def get(self, queue: str) -> DueWork | None:
        """Return a first look, if it is as old as it must be for a second one."""
        at, work = self._looks.get(queue, (0.0, None))
        return work if SECOND_LOOK <= time.monotonic() - at <= _OLDEST else None

    def forget(self, queue: str) -> None:
        """Forget a queue: it does not seem stuck any more."""
        self._looks.pop(queue, None)
