"""The one way to wait in tests: for a state, never for a time."""

import inspect
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], what: str = "", seconds: float = 30, pause: float = 0.005) -> T:
    """Return the first true result of a condition.

    Args:
        condition: Called every 5 ms, or after another pause.
        what: What is awaited, for the error; by default the source of the condition.
        seconds: How long to wait.
        pause: Seconds between two calls, for a condition that costs the server much.

    Raises:
        AssertionError: There was none in time; the text has what was awaited and the last result.
    """
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what or _source(condition)}\nlast result: {result!r}")
        time.sleep(pause)
    return result


def _source(condition: Callable[[], object]) -> str:
    name = getattr(condition, "__name__", "")
    return inspect.getsource(condition).strip() if name == "<lambda>" else name or repr(condition)
