"""Why the tasks of a call failed."""

from __future__ import annotations

import re
from typing import Final

#: The line of a Python traceback that has an error of ours, then of any kind; then what Spark says of its job.
_LINES: Final = (
    re.compile(r"^bullrush\.errors\.(\w+: .*)$", re.MULTILINE),
    re.compile(r"Traceback \(most recent call last\):\n(?:[ \t]+.*\n)+([A-Za-z_][\w.]*: .*)$", re.MULTILINE),
    re.compile(r"(Job aborted due to stage failure: .*)$", re.MULTILINE),
)
_LONGEST: Final = 500


def reason_of(error: Exception) -> str:
    """Return the reason in the text of an error of Spark, which also has tracebacks of Java and Python."""
    text = str(error)
    for line in _LINES:
        if found := line.findall(text):
            return str(found[-1])[:_LONGEST]
    return f"{type(error).__name__}: {text.strip().partition(chr(10))[0]}"[:_LONGEST]
