"""Waiting for a state, never for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(what: str, condition: Callable[[], T], seconds: float = 30) -> T:
    """Return the first true result of ``condition``; fail when there is none in time."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.01)
    return found
