"""The ``bullrush`` commands that do the same as the buttons."""

from __future__ import annotations

import shlex
from collections.abc import Sequence


def command(words: Sequence[str], names: Sequence[str], prefix: str) -> str:
    """Return a command as it is typed. Redis is found by the environment: a URL may have a password.

    Args:
        words: the command and its options.
        names: the queue, and perhaps the id of a job, which may begin like an option.
        prefix: the prefix of the queues.
    """
    further = [] if prefix == "bull" else ["--prefix", prefix]
    first, *rest = names
    marked = ["--"] if any(name.startswith("-") and name != "-" for name in rest) else []
    return shlex.join(["bullrush", *words, *further, first, *marked, *rest])
