"""A SIGTERM that is sent twice: what stops a program often reaches each of its processes by more than one way."""

from __future__ import annotations

import math
import signal
import time
from typing import Final

#: Seconds within which a SIGTERM counts as the one before. A Ctrl-C is always meant: somebody pressed it.
TOGETHER: Final = 0.2


class RepeatedSignals:
    """Knows when the last SIGTERM came that counted."""

    def __init__(self) -> None:
        self._last = -math.inf

    def repeats(self, number: int) -> bool:
        """Tell whether a signal that has come now counts as the one before."""
        if number != signal.SIGTERM:
            return False
        now = time.monotonic()
        if now - self._last < TOGETHER:
            return True
        self._last = now
        return False
