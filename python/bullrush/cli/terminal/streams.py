"""Standard streams that the caller has closed, or that cannot show every character."""

from __future__ import annotations

import io
import os
import sys


def open_missing() -> None:
    """Open the null device for each standard stream that is closed, as daemons and cron may leave them.

    Otherwise the next socket would get its number, and what a library writes to stderr would go to Redis.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is this one.
            os.open(os.devnull, os.O_RDWR)
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(descriptor, "w" if descriptor else "r", closefd=False))


def show_every_character() -> None:
    """Let standard output write what its encoding does not have as in Python's strings, as stderr does anyway."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
