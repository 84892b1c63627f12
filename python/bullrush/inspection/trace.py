"""Stack traces as people read them."""

from __future__ import annotations

from typing import Final

#: Python's first line of a trace.
START: Final = "Traceback (most recent call last):"


def readable_trace(stack: str) -> str:
    """Return a stack trace without its first line, if that is a copy of the last one, as in those of Python."""
    title, _, trace = stack.rstrip().partition(f"\n{START}")
    return START + trace if trace.endswith(f"\n{title}") else stack.rstrip()
