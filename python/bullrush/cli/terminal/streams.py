"""Standard streams that the caller has closed."""

from __future__ import annotations

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
